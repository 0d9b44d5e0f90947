/** How sure a figure is. */
export type Certainty = "exact" | "heuristic" | "assumed";

/** One line of the ledger, in bytes on one GPU. */
export interface LedgerLine {
  kind: string;
  label: string;
  bytes: number;
  certainty: Certainty;
  source: string;
}

/** What came of one setting of a command or file. */
export interface Setting {
  flag: string;
  value: string;
  way: "read" | "default" | "derived" | "no effect on memory" | "not modelled" | "not understood";
  note: string;
  line: number | null;
  column: number | null;
}

/** A change that the engine has verified, as settings of the tool. */
export interface Remedy {
  title: string;
  changes: string;
  link: string;
}

/** The estimate; see docs/library.md for every member. */
export interface Estimate {
  verdict: "fits" | "tight" | "does_not_fit" | "cannot_run";
  about: string;
  model: string;
  accelerator: string;
  parameters: number;
  total_bytes: number;
  capacity_bytes: number;
  free_bytes: number;
  short_bytes: number;
  ledger: LedgerLine[];
  blockers: unknown[];
  notices: string[];
  remarks: unknown[];
  [member: string]: unknown;
}

/** The answer to a text. */
export interface Answer {
  link: string;
  format: string | null;
  version: string | null;
  report: Setting[] | null;
  answer: Estimate;
  remedies: Remedy[];
}

/** A tool whose commands or files are read. */
export interface Tool {
  key: string;
  label: string;
  version: string;
  written: boolean;
}
