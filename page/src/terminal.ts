/*
 * terminal.ts - what a program writes for a terminal, as lines of styled text: colours, and the control characters and escape sequences by which progress bars write over what
 * they wrote. All other sequences are left out. Pure: text in, runs out.
 */

/* A part of a line that looks the same throughout: `style` is a list of classes of style.css, "": plain. */
export interface Run {
  text: string;
  style: string;
}

/* A line: runs while it is only appended to, a run for each character once something is written over. */
class Row {
  runs: Run[] = [];
  size = 0; /* characters */
  private single = false;

  private split(): void {
    if (!this.single) this.runs = this.runs.flatMap((r) => [...r.text].map((text) => ({ text, style: r.style })));
    this.single = true;
  }

  put(column: number, text: string, style: string): number {
    if (column > this.size) this.put(this.size, " ".repeat(column - this.size), "");
    const n = /[\ud800-\udbff]/.test(text) ? [...text].length : text.length;
    if (column === this.size && !this.single) {
      const last = this.runs[this.runs.length - 1];
      if (last?.style === style) last.text += text;
      else this.runs.push({ text, style });
    } else {
      this.split();
      [...text].forEach((char, i) => (this.runs[column + i] = { text: char, style }));
    }
    this.size = Math.max(this.size, column + n);
    return column + n;
  }

  cut(column: number): void {
    if (column >= this.size) return;
    this.split();
    this.size = this.runs.length = column;
  }
}

const ROWS = 200; /* that can still be written over */
const WIDEST = 16384; /* characters of a line: a longer one continues on the next */
const COLUMNS = 2000; /* by which a sequence may move */

/* A colour of the 256, or of red, green and blue, as the nearest of the 16. */
function nearest(r: number, g: number, b: number): number {
  const most = Math.max(r, g, b),
    bright = most > 191 ? 8 : 0;
  if (most - Math.min(r, g, b) < 32) return most < 64 ? 0 : most < 128 ? 8 : most < 224 ? 7 : 15;
  return bright + (r > most / 2 ? 1 : 0) + (g > most / 2 ? 2 : 0) + (b > most / 2 ? 4 : 0);
}

function indexed(n: number): number {
  if (n < 16) return n;
  if (n > 231) return nearest((n - 232) * 10 + 8, (n - 232) * 10 + 8, (n - 232) * 10 + 8);
  const level = (x: number) => (x ? x * 40 + 55 : 0);
  return nearest(level(Math.floor((n - 16) / 36)), level(Math.floor((n - 16) / 6) % 6), level((n - 16) % 6));
}

const FLAGS: Record<number, string> = { 1: "bold", 2: "dim", 3: "italic", 4: "underline", 7: "inverse", 9: "strike" };
const ENDS: Record<number, string[]> = { 22: ["bold", "dim"], 23: ["italic"], 24: ["underline"], 27: ["inverse"], 29: ["strike"] };

export class Pen {
  private flags = new Set<string>();
  private front = -1;
  private back = -1;
  style = "";

  private one(codes: number[]): void {
    const code = codes.shift()!;
    if (code === 0) {
      this.flags.clear();
      this.front = this.back = -1;
    } else if (FLAGS[code]) this.flags.add(FLAGS[code]);
    else if (ENDS[code]) ENDS[code].forEach((f) => this.flags.delete(f));
    else if (code === 38 || code === 48) {
      const kind = codes.shift();
      const rest = codes.splice(0, kind === 5 ? 1 : kind === 2 ? 3 : 0);
      if (rest.length !== (kind === 5 ? 1 : 3)) return;
      this.set(code === 48, kind === 5 ? indexed(rest[0]) : nearest(rest[0], rest[1], rest[2]));
    } else if (code === 39 || code === 49) this.set(code === 49, -1);
    else if ((code >= 30 && code < 38) || (code >= 40 && code < 48)) this.set(code >= 40, code % 10);
    else if ((code >= 90 && code < 98) || (code >= 100 && code < 108)) this.set(code >= 100, (code % 10) + 8);
  }

  private set(back: boolean, colour: number): void {
    if (back) this.back = colour;
    else this.front = colour;
  }

  select(parameters: string): void {
    const codes = parameters.split(/[;:]/).map(Number);
    while (codes.length) this.one(codes);
    this.style = [...this.flags, ...(this.front < 0 ? [] : [`fg${this.front}`]), ...(this.back < 0 ? [] : [`bg${this.back}`])].join(" ");
  }
}

/* Escape sequences: CSI, OSC (a title, a link) and others of one character; a text may end within one. */
const SEQUENCE = /^\x1b(?:\[([\x20-\x3f]*)([\x40-\x7e])|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()#%].|[^[\]()#%])/s;
const BEGUN = /^\x1b(?:\[[\x20-\x3f]*|\][^\x07\x1b]*\x1b?|[()#%])?$/s;
const LONGEST = 4096; /* characters of a sequence */

/* The sequence that begins there. null: it is not one; undefined: the text ends within it. */
function sequenceAt(text: string, at: number): RegExpExecArray | null | undefined {
  const ahead = text.slice(at, at + LONGEST);
  return SEQUENCE.exec(ahead) ?? (ahead.length < LONGEST && BEGUN.test(ahead) ? undefined : null);
}

/* What takes a program's output: plain characters, sequences and single control characters. */
export interface Reader {
  plain(text: string): void;
  sequence(m: RegExpExecArray): void;
  control(c: string): void;
}

/* Hands a program's output to its reader, cut into what `plain` matches, sequences and control characters. Returns an incomplete sequence at the end. */
export function read(text: string, plain: RegExp, to: Reader): string {
  for (let i = 0; i < text.length; ) {
    plain.lastIndex = i;
    const found = plain.exec(text)?.[0] ?? "";
    if (found) to.plain(found);
    i += found.length;
    if (i === text.length) break;
    const m = text[i] === "\x1b" ? sequenceAt(text, i) : null;
    if (m === undefined) return text.slice(i);
    if (m) to.sequence(m);
    else to.control(text[i]);
    i += m ? m[0].length : 1;
  }
  return "";
}

/* What is neither a control character nor the beginning of a sequence. */
const PLAIN = /[^\x00-\x08\x0a-\x1f\x7f]+/y;

function append(to: Run[], runs: Run[], ends: boolean): void {
  for (const r of ends ? [...runs, { text: "\n", style: "" }] : runs) {
    const last = to[to.length - 1];
    if (last?.style === r.style) last.text += r.text;
    else to.push({ ...r });
  }
}

export class Terminal implements Reader {
  private done: Run[] = []; /* lines that can't be written over any more */
  private kept = 0; /* characters of them */
  private rows = [new Row()];
  private row = 0;
  private column = 0;
  private rest = "";
  private pen = new Pen();
  cut = false; /* the beginning was dropped */

  /* `most`: characters that are kept, and up to half as many more. */
  constructor(private readonly most: number) {}

  private newline(): void {
    this.column = 0;
    if (++this.row === this.rows.length) this.rows.push(new Row());
    if (this.rows.length <= ROWS) return;
    const first = this.rows.shift()!;
    this.row--;
    append(this.done, first.runs, true);
    this.kept += first.size + 1;
    if (this.kept > this.most * 1.5) this.trim();
  }

  private trim(): void {
    this.cut = true;
    while (this.kept > this.most && this.done.length) {
      const first = this.done[0];
      const drop = Math.min(first.text.length, this.kept - this.most);
      this.kept -= drop;
      if (drop === first.text.length) this.done.shift();
      else first.text = first.text.slice(drop);
    }
  }

  private move(parameters: string, final: string): void {
    const n = Math.min(COLUMNS, Math.max(1, Number.parseInt(parameters, 10) || 1));
    const line = this.rows[this.row];
    if (final === "m" && /^[\d;:]*$/.test(parameters)) this.pen.select(parameters);
    else if (final === "A" || final === "F") this.row = Math.max(0, this.row - n);
    else if (final === "B" || final === "E") this.row = Math.min(this.rows.length - 1, this.row + n);
    else if (final === "C") this.column = Math.min(COLUMNS, this.column + n);
    else if (final === "D") this.column = Math.max(0, this.column - n);
    else if (final === "G") this.column = n - 1;
    else if (final === "K" && parameters === "1") line.put(0, " ".repeat(this.column + 1), "");
    else if (final === "K") line.cut(parameters === "2" ? 0 : this.column);
    else if (final === "J" && !/[1-9]/.test(parameters)) {
      line.cut(this.column);
      this.rows.length = this.row + 1;
    }
    if (final === "E" || final === "F") this.column = 0;
  }

  write(text: string): void {
    this.rest = read(this.rest + text, PLAIN, this);
  }

  plain(text: string): void {
    this.column = this.rows[this.row].put(this.column, text, this.pen.style);
    if (this.column > WIDEST) this.newline();
  }

  sequence(m: RegExpExecArray): void {
    if (m[2]) this.move(m[1], m[2]);
  }

  control(c: string): void {
    if (c === "\n") this.newline();
    else if (c === "\r") this.column = 0;
    else if (c === "\b") this.column = Math.max(0, this.column - 1);
  }

  runs(): Run[] {
    const all = this.done.map((r) => ({ ...r }));
    this.rows.forEach((line, i) => append(all, line.runs, i < this.rows.length - 1));
    return all;
  }
}
