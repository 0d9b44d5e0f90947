import { open, part } from './steps.mjs';
import { readFileSync } from 'node:fs';
const css=readFileSync('/tmp/e2e-print.css','utf8');
for (const [i,f] of [undefined,'v1&do=serve&m=llama3-70b','v1&m=llama3-70b&n=16','v1&m=llama2-13b&gpu=a100-40&n=16&z=2&b.gpu=h100-80&b.n=8&b.z=3','v1&m=ju-7b&s=4096&gb=128&b=empty&gpu=a100-40&ker=korthikanti&att=standard&rc=full&z=3&name=A-long-name'].entries()) {
const page = await open(f, {colorScheme:'dark'});
await page.evaluate(c=>{const s=new CSSStyleSheet(); s.replaceSync(c); document.adoptedStyleSheets=[s];},css);
await page.setViewportSize({width:718,height:600});
await page.emulateMedia({media:'print',colorScheme:'dark'});
await page.waitForTimeout(200);
console.log(f, await page.evaluate(()=>[document.documentElement.scrollHeight,...['main','.below','.answer','.printed','.verdict','#stack','.curves'].map(s=>{const b=document.querySelector(s)?.getBoundingClientRect(); return s+' '+Math.round(b?.top)+'-'+Math.round(b?.bottom)})].join(', ')));
if(i==3) await page.screenshot({path:'out/print3.png',fullPage:true});
const pdf=(await page.pdf({preferCSSPageSize:true,printBackground:true})).toString('latin1'); console.log(pdf.match(/\/Type\s*\/Page\b(?!s)/g).length);
}
process.exit(0)
