// The page: three questions, the noise on one's own answers, made-up neighbours, and what can be learnt from all reports.

import { placeOf, type Block } from "../../typescript/src/blocks.js";
import { openClient, type Client, type Options, type Report } from "../../typescript/src/client.js";
import { readMechanism } from "../../typescript/src/mechanism.js";
import { plain } from "../../typescript/src/plaincrypto.js";
import { indexedDbStore, memoryStore } from "../../typescript/src/stores.js";
import { web } from "../../typescript/src/webcrypto.js";
import { intervalPicture, lawPicture, valueOf } from "./pictures.js";
import { fitReports, fitTruth, fromPlatform, neighbours, reported, TRUTH } from "./simulate.js";

declare const MECHANISM: string; // mechanism.json, put in by build.mjs

const OTHERS = 20; // devices with the same answers, whose noise is shown beside
const mechanism = readMechanism(MECHANISM);
const open = (options: Options): Promise<Client> =>
  globalThis.crypto?.subtle ? openClient(web, MECHANISM, options) : openClient(plain, MECHANISM, options);

const find = <E extends HTMLElement>(id: string): E => document.getElementById(id) as E;
const blockOf = (name: string): Block => mechanism.blocks.find((block) => block.parts[0]!.column.name === name)!;
const WORDING: Record<string, [question: string, say: (value: number) => string]> = {
  hours: ["Hours at a screen", (value) => signed(value)],
  content: ["Contentment", (value) => signed(value)],
  secret: ["Messages in secret", (value) => (value ? "yes" : "no")],
};

/** A number with a minus that is one, to screen readers as well. */
const signed = (value: number, digits?: number): string => (digits === undefined ? String(value) : value.toFixed(digits)).replace("-", "−");

/** How often each answer was given, in the order of the answers. */
function counted(said: string[]): string {
  const counts = new Map<string, number>();
  for (const each of said) counts.set(each, (counts.get(each) ?? 0) + 1);
  const order = (text: string): number => Number(text.replace("−", "-"));
  const sorted = [...counts].sort(([a], [b]) => order(a) - order(b) || a.localeCompare(b));
  return sorted.map(([each, count]) => (count === 1 ? each : `${each} (${count}×)`)).join(", ");
}

type Answers = { hours: number; content: number; secret: string };
let mine: Report | undefined;
let answers: Answers | undefined;

function readForm(): Answers | undefined {
  const form = find<HTMLFormElement>("questions");
  if (!form.reportValidity()) return undefined;
  const data = new FormData(form);
  return { hours: Number(data.get("hours")), content: Number(data.get("content")), secret: String(data.get("secret")) };
}

/** What a new device sends of these answers. */
async function fresh(given: Answers): Promise<Report> {
  return (await open({ store: memoryStore(), most: 1 })).report(given, { round: "try" });
}

async function showNoise(): Promise<void> {
  answers = readForm();
  if (!answers) return;
  const given = answers;
  mine = await fresh(given);
  const others = await Promise.all(Array.from({ length: OTHERS }, () => fresh(given)));
  find("answers").innerHTML = Object.entries(WORDING)
    .map(([name, [question, say]]) => {
      const block = blockOf(name);
      const truth = name === "secret" ? Number(given.secret === "yes") : given[name as "hours" | "content"];
      const said = (report: Report): string => say(valueOf(report.values[name] as number, block));
      const place = placeOf(truth, block.parts[0]!)!;
      return (
        `<article><h3>${question}</h3><dl><div><dt>Your answer</dt><dd>${say(truth)}</dd></div>` +
        `<div><dt>With noise</dt><dd class="sent">${said(mine!)}</dd></div></dl>` +
        `${lawPicture(block, place, mine!.values[name] as number, say)}` +
        `<p class="others"><span>${OTHERS} other devices with your answer:</span> ${counted(others.map(said))}</p></article>`
      );
    })
    .join("");
  find("statement").textContent = (await open({ store: memoryStore(), most: 1 })).statement();
  show("noise");
  simulate(1000);
}

function simulate(count: number): void {
  const people = neighbours(count, fromPlatform);
  const outputs = reported(people, mechanism, fromPlatform);
  for (const name of Object.keys(WORDING)) outputs[name]!.push(mine!.values[name] as number); // yours is one of them
  const [noisy, truth] = [fitReports(outputs, mechanism), fitTruth(people)];
  const rows = [["Each hour at a screen", 1], ["Messages in secret", 2]] as const;
  const figure = (x: number): string => signed(x, 2);
  find("coefficients").innerHTML = rows
    .map(([label, k]) => {
      const [middle, half] = [noisy.coefficients[k]!, 1.96 * noisy.errors[k]!];
      const raw = truth.coefficients[k]!;
      return `<tr><th scope="row">${label}</th><td>${figure(middle)}</td><td><span class="end">${figure(middle - half)} to</span> <span class="end">${figure(middle + half)}</span></td><td>${figure(raw)}</td></tr>`;
    })
    .join("");
  const picture = intervalPicture([["from reports", noisy], ["from true answers", truth]], 1, TRUTH.hours);
  find("interval").innerHTML = `<figcaption>${rows[0][0]}: estimates and their intervals</figcaption>${picture}`;
  find("crowd").textContent = `From ${(count + 1).toLocaleString("en")} reports, yours among them:`;
  for (const button of document.querySelectorAll<HTMLButtonElement>("#crowds button")) {
    button.setAttribute("aria-pressed", String(Number(button.value) === count));
  }
}

function show(id: string): void {
  for (const section of document.querySelectorAll<HTMLElement>("[data-after]")) section.hidden = false;
  const heading = find(id).querySelector("h2")!;
  heading.focus({ preventScroll: true });
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  find(id).scrollIntoView({ behavior: calm ? "auto" : "smooth" });
}

/** The collector that the address of this page names, if it is on this machine. */
function collector(): URL | undefined {
  const given = new URLSearchParams(location.search).get("collector");
  if (given === null) return undefined;
  const address = URL.canParse(given) ? new URL(given) : undefined;
  const isLocal = address?.protocol === "http:" && ["127.0.0.1", "localhost"].includes(address.hostname);
  if (address && isLocal) return address.pathname === "/" ? new URL("/reports", address) : address;
  find("where").textContent = "The collector in the address of this page is not on this machine: nothing is sent.";
  return undefined;
}

async function send(address: URL): Promise<void> {
  const told = find("sent");
  const round = new URLSearchParams(location.search).get("round") ?? "demo";
  try {
    const client = await open({ store: indexedDbStore("versadp survey"), most: 1 });
    const report = await client.report(answers!, { round });
    find("line").textContent = JSON.stringify(report);
    const body = `${JSON.stringify(report)}\n`;
    const answer = await fetch(address, { method: "POST", body, credentials: "omit", referrerPolicy: "no-referrer" });
    told.textContent = answer.ok
      ? "Taken. Whatever you answer now, sending again sends the same report, and the collector counts it once."
      : answer.status === 410
        ? "The round is closed: no more reports are taken."
        : `Not taken (${answer.status}). Try again later: the same report is sent.`;
  } catch (error) {
    const isOurs = error instanceof Error && error.name === "VersadpError";
    told.textContent = isOurs ? `Nothing is sent: ${(error as Error).message}.` : "The collector does not answer. Try again later: the same report is sent.";
  }
}

find("questions").addEventListener("submit", (event) => {
  event.preventDefault();
  void showNoise();
});
find("crowds").addEventListener("click", (event) => {
  if (event.target instanceof HTMLButtonElement) simulate(Number(event.target.value));
});
const address = collector();
if (address) {
  find("sending").setAttribute("data-after", "");
  find("where").textContent = `To the collector at ${address.href}. This device keeps a key and answers a round once: its report, with noise of its own, is shown here when it is sent.`;
  find("send").hidden = false;
  find("send").addEventListener("click", () => void send(address));
} else if (find("where").textContent) {
  find("sending").setAttribute("data-after", "");
}
