/*
 * screen.ts - the screen of a terminal: what a shell, an editor or top writes, as rows of cells with a cursor. It understands what terminfo says of "screen". Pure: text in, runs
 * out.
 */
import { Pen, read, type Reader, type Run } from "./terminal";

interface Cell {
  char: string;
  style: string;
}

const KEPT = 1000; /* rows that have left the screen at its top */
const TAB = 8;

/* The second set of characters, by which programs draw frames. */
const LINES = new Map([..."jklmnqtuvwxa"].map((c, i) => [c, "┘┐┌└┼─├┤┴┬│▒"[i]]));

/* What is neither a control character, a tab among them, nor the beginning of a sequence. */
const PLAIN = /[^\x00-\x1f\x7f]+/y;

const BLANK: Cell = { char: " ", style: "" }; /* cells are replaced, never changed */
const blanks = (n: number): Cell[] => new Array<Cell>(n).fill(BLANK);

function runsOf(row: Cell[], cursor = -1): Run[] {
  const runs: Run[] = [];
  row.forEach(({ char, style }, i) => {
    const own = i === cursor ? `${style} cursor` : style;
    const last = runs[runs.length - 1];
    if (last?.style === own) last.text += char;
    else runs.push({ text: char, style: own });
  });
  return runs;
}

export class Screen implements Reader {
  private rows: Cell[][];
  private gone: Run[][] = [];
  private main: Cell[][] | null = null; /* the other screen, while a program has one of its own */
  private x = 0;
  private y = 0;
  private full = false; /* the next character begins a new row */
  private top = 0; /* of the part that scrolls */
  private bottom: number; /* its last row */
  private kept = { x: 0, y: 0 };
  private pen = new Pen();
  private sets = [false, false]; /* whether each of the two sets draws lines */
  private set = 0;
  private insert = false;
  private shown = true;
  private rest = "";
  application = false; /* arrows are sent in their second form */

  /* `answer`: what a program asks the terminal. */
  constructor(
    private height: number,
    private width: number,
    private readonly answer: (text: string) => void,
  ) {
    this.rows = this.empty();
    this.bottom = height - 1;
  }

  private empty(): Cell[][] {
    return Array.from({ length: this.height }, () => blanks(this.width));
  }

  resize(height: number, width: number): void {
    while (this.rows.length > height && this.y < this.rows.length - 1) this.rows.pop();
    while (this.rows.length > height) {
      this.leave(this.rows.shift()!);
      this.y--;
    }
    while (this.rows.length < height) this.rows.push([]);
    this.rows = this.rows.map((r) => [...r.slice(0, width), ...blanks(Math.max(0, width - r.length))]);
    [this.height, this.width, this.top, this.bottom] = [height, width, 0, height - 1];
    this.move(this.x, this.y);
  }

  private leave(row: Cell[]): void {
    if (this.main) return;
    this.gone.push(runsOf(row));
    if (this.gone.length > KEPT) this.gone.shift();
  }

  private move(x: number, y: number): void {
    this.x = Math.max(0, Math.min(this.width - 1, x));
    this.y = Math.max(0, Math.min(this.height - 1, y));
    this.full = false;
  }

  /* Moves what scrolls up by n rows, or down if n < 0, from the row `first` on. */
  private scroll(n: number, first = this.top): void {
    for (let i = 0; i < Math.min(Math.abs(n), this.height); i++) {
      const [out] = this.rows.splice(n > 0 ? first : this.bottom, 1);
      if (n > 0 && first === 0 && this.top === 0) this.leave(out);
      this.rows.splice(n > 0 ? this.bottom : first, 0, blanks(this.width));
    }
  }

  private feed(): void {
    if (this.y === this.bottom) this.scroll(1);
    else this.move(this.x, this.y + 1);
    this.full = false;
  }

  private put(char: string): void {
    if (this.full) {
      this.x = 0;
      this.feed();
    }
    const row = this.rows[this.y];
    const cell = { char: this.sets[this.set] ? (LINES.get(char) ?? char) : char, style: this.pen.style };
    if (this.insert) row.splice(this.x, 0, cell), row.pop();
    else row[this.x] = cell;
    if (this.x === this.width - 1) this.full = true;
    else this.x++;
  }

  private erase(from: number, to: number, row = this.rows[this.y]): void {
    for (let i = Math.max(0, from); i < Math.min(to, this.width); i++) row[i] = BLANK;
  }

  private eraseScreen(kind: number): void {
    this.rows.forEach((row, y) => {
      if (kind === 2 || kind === 3 || (kind === 0 ? y > this.y : y < this.y)) this.erase(0, this.width, row);
    });
    if (kind === 0) this.erase(this.x, this.width);
    if (kind === 1) this.erase(0, this.x + 1);
  }

  private mode(codes: number[], on: boolean, own: boolean): void {
    for (const code of codes) {
      if (!own) this.insert = code === 4 ? on : this.insert;
      else if (code === 1) this.application = on;
      else if (code === 25) this.shown = on;
      else if (code === 47 || code === 1047 || code === 1049) this.alternate(on);
    }
  }

  private alternate(on: boolean): void {
    if (on === !!this.main) return;
    if (on) {
      this.kept = { x: this.x, y: this.y };
      this.main = this.rows;
      this.rows = this.empty();
    } else {
      this.rows = this.main!;
      this.main = null;
      this.resize(this.height, this.width); /* it may have another size than when it was left */
      this.move(this.kept.x, this.kept.y);
    }
  }

  private command(parameters: string, final: string): void {
    const own = parameters.startsWith("?");
    const codes = parameters.replace(/^[?>=]/, "").split(";").map((p) => Number.parseInt(p, 10) || 0);
    const n = Math.max(1, codes[0]),
      row = this.rows[this.y];
    const acts: Record<string, () => void> = {
      "@": () => row.splice(this.x, 0, ...blanks(Math.min(n, this.width))) && (row.length = this.width),
      A: () => this.move(this.x, this.y - n),
      B: () => this.move(this.x, this.y + n),
      C: () => this.move(this.x + n, this.y),
      D: () => this.move(this.x - n, this.y),
      E: () => this.move(0, this.y + n),
      F: () => this.move(0, this.y - n),
      G: () => this.move(n - 1, this.y),
      H: () => this.move((codes[1] || 1) - 1, n - 1),
      f: () => this.move((codes[1] || 1) - 1, n - 1),
      J: () => this.eraseScreen(codes[0]),
      K: () => this.erase(codes[0] === 0 ? this.x : 0, codes[0] === 1 ? this.x + 1 : this.width),
      L: () => this.y >= this.top && this.y <= this.bottom && this.scroll(-n, this.y),
      M: () => this.y >= this.top && this.y <= this.bottom && this.scrollOut(n),
      P: () => (row.splice(this.x, n), row.push(...blanks(this.width - row.length))),
      S: () => this.scroll(n),
      T: () => this.scroll(-n),
      X: () => this.erase(this.x, this.x + n),
      c: () => parameters.startsWith(">") || this.answer("\x1b[?1;2c"),
      d: () => this.move(this.x, n - 1),
      h: () => this.mode(codes, true, own),
      l: () => this.mode(codes, false, own),
      m: () => own || this.pen.select(parameters),
      n: () => codes[0] === 6 && this.answer(`\x1b[${this.y + 1};${this.x + 1}R`),
      r: () => {
        this.top = Math.min(n - 1, this.height - 1);
        this.bottom = Math.max(this.top, Math.min(this.height, codes[1] || this.height) - 1);
        this.move(0, 0);
      },
      s: () => (this.kept = { x: this.x, y: this.y }),
      u: () => this.move(this.kept.x, this.kept.y),
    };
    acts[final]?.();
  }

  /* Rows that are deleted don't go where those that scroll away do. */
  private scrollOut(n: number): void {
    this.rows.splice(this.y, Math.min(n, this.bottom - this.y + 1));
    while (this.rows.length < this.height) this.rows.splice(this.bottom - (this.height - this.rows.length) + 1, 0, blanks(this.width));
  }

  private escape(text: string): void {
    const c = text[1];
    if (c === "(" || c === ")") this.sets[c === "(" ? 0 : 1] = text[2] === "0";
    else if (c === "7") this.kept = { x: this.x, y: this.y };
    else if (c === "8") this.move(this.kept.x, this.kept.y);
    else if (c === "D") this.feed();
    else if (c === "E") this.move(0, this.y), this.feed();
    else if (c === "M") this.y === this.top ? this.scroll(-1) : this.move(this.x, this.y - 1);
    else if (c === "c") this.alternate(false), this.eraseScreen(2), this.move(0, 0), this.pen.select("0");
  }

  write(text: string): void {
    this.rest = read(this.rest + text, PLAIN, this);
  }

  plain(text: string): void {
    for (const char of text) this.put(char);
  }

  sequence(m: RegExpExecArray): void {
    if (m[2]) this.command(m[1], m[2]);
    else this.escape(m[0]);
  }

  control(c: string): void {
    if (c === "\n" || c === "\v" || c === "\f") this.feed();
    else if (c === "\r") this.move(0, this.y);
    else if (c === "\b") this.move(this.x - 1, this.y);
    else if (c === "\t") this.move((Math.floor(this.x / TAB) + 1) * TAB, this.y);
    else if (c === "\x0e" || c === "\x0f") this.set = c === "\x0e" ? 1 : 0;
  }

  /* What has left at the top, and the screen. */
  lines(): Run[][] {
    return [...(this.main ? [] : this.gone), ...this.rows.map((row, y) => runsOf(row, this.shown && y === this.y ? this.x : -1))];
  }
}
