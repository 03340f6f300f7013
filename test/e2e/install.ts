/** Installs the real Pi, both lines, and the Node that each wants, into a temporary folder; what is there already stays. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** One line of Pi, installed. */
export interface Pi {
  readonly line: "1.6" | "0.73";
  /** For people. */
  readonly name: string;
  /** The program that runs it, and its first argument. */
  readonly node: string;
  readonly script: string;
  /** PATH with that Node and ripgrep, which Pi's grep needs. */
  readonly path: string;
}

const LINES = [
  { line: "1.6", package: "@earendil-works/pi-coding-agent", version: "1.6.0", node: "24" },
  { line: "0.73", package: "@mariozechner/pi-coding-agent", version: "0.73.1", node: "20" },
] as const;
const RIPGREP = "@vscode/ripgrep@1.18.0";

/** The lines of Pi, installed below `folder` (default: in the system's temporary folder, kept between runs). */
export async function installed(folder: string = process.env["CURSOR_WIRE_E2E_DIR"] || join(tmpdir(), "cursor-wire-e2e")): Promise<Pi[]> {
  const ripgrep = await packageFolder(folder, "ripgrep", RIPGREP);
  const scope = join(ripgrep, "node_modules", "@vscode");
  const binaries = (await readdir(scope)).map((name) => join(scope, name, "bin")).filter((path) => existsSync(path));
  const lines: Pi[] = [];
  for (const { line, package: name, version, node } of LINES) {
    const root = await packageFolder(folder, `pi-${line}`, `${name}@${version}`);
    const own = process.versions.node.startsWith(`${node}.`);
    const program = own ? process.execPath : join(await packageFolder(folder, `node-${node}`, `node@${node}`, true), "node_modules", ".bin", "node");
    const { stdout } = await run(program, ["--version"]);
    lines.push({
      line,
      name: `Pi ${version} on Node ${stdout.trim().slice(1)}`,
      node: program,
      script: join(root, "node_modules", ".bin", "pi"),
      path: [join(program, ".."), ...binaries, process.env["PATH"] ?? ""].join(delimiter),
    });
  }
  return lines;
}

/** A folder with a package installed in it. */
async function packageFolder(folder: string, name: string, spec: string, scripts = false): Promise<string> {
  const root = join(folder, `${name}-${spec.replace(/.*@/, "")}`);
  if (existsSync(join(root, "package-lock.json"))) return root;
  console.error(`installing ${spec}`);
  await mkdir(root, { recursive: true });
  // The node package brings its program by a script of its own; nothing else may run any.
  await run("npm", ["install", "--prefix", root, "--no-audit", "--no-fund", ...(scripts ? [] : ["--ignore-scripts"]), spec], { maxBuffer: 1 << 24 });
  return root;
}
