/**
 * The sandbox's interface: programs in, bytes out, under hard limits.
 *
 * The sandbox knows nothing of expected outputs, problems or rewards; those stay with the judge, on
 * the trusted side. A program that misbehaves is an outcome. Only a failure of our own machinery
 * (a dead server, a missing interpreter) is an error, always SandboxError, and may be retried.
 */

/** Hard limits on one test of one program. */
export interface SandboxLimits {
  /** Processor time, all threads and children together. Decides a time limit. */
  cpuMs: number;
  /** Time on the wall: the backstop for programs that sleep. */
  wallMs: number;
  memoryBytes: number;
  /** Most bytes kept of standard output; one more ends the program. */
  outputBytes: number;
}

/**
 * How strongly programs are held, as found by trying real attacks at start:
 * `full` inner and outer layers held; `basic` inner layers held (no network, no files, no fork, no
 * signals to others); `none` limits only.
 */
export type IsolationLevel = "full" | "basic" | "none";

/** The levels from weak to strong. */
export const ISOLATION_LEVELS: readonly IsolationLevel[] = ["none", "basic", "full"];

/** One program to be run once per input. */
export interface ProgramJob {
  language: string;
  source: string;
  /** One standard input per test, in order. */
  stdins: readonly Uint8Array[];
  limits: SandboxLimits;
  /**
   * Called with each outcome as it comes; answering false leaves out the tests that follow.
   * `isFirst` says that no other test ran in its process before. Where `isSuccess` has the tests
   * run anew, it is called anew from the first test on, and what it heard before counts no more.
   */
  onOutcome?: (index: number, outcome: ProgramOutcome, isFirst: boolean) => boolean;
  /**
   * Says of an outcome whether it is a success. A failure that came after other tests ran in the
   * same process is then repeated in a fresh one. When that is a success, outcomes depend on what
   * ran before: all of them are thrown away, and each test runs once in a process of its own.
   * Without it every outcome is taken as it is.
   */
  isSuccess?: (index: number, outcome: ProgramOutcome) => boolean;
  signal?: AbortSignal;
}

/** How one run ended. Exactly one of the kinds; output printed before the end is kept. */
export type ProgramEnd =
  | { kind: "exited"; exitCode: number }
  | { kind: "signaled"; signal: string }
  | { kind: "time_limit"; clock: "cpu" | "wall" }
  | { kind: "memory_limit" }
  | { kind: "output_limit" }
  /** The source does not compile; no test ran. */
  | { kind: "compile_error" };

/** What one run left behind. */
export interface ProgramOutcome {
  end: ProgramEnd;
  stdout: Uint8Array;
  /** The last 4 KiB of standard error, decoded with replacement; the compiler's on compile_error. */
  stderr: string;
  cpuMs: number;
  wallMs: number;
  /** Largest resident memory of the process; of all tests so far where they share a process. */
  peakBytes: number;
}

/** A program that stays loaded and exchanges messages with the trusted side. */
export interface SessionJob {
  /**
   * `candidate` loads untrusted code and answers calls of what it defines; `tests` runs trusted
   * test code whose names of the candidate's are stubs that ask for such calls. Both live in the
   * sandbox, in two processes; messages between them pass through the caller.
   */
  role: "candidate" | "tests";
  /** What the `load` message of python/sandbox/calls.py carries; the sandbox sends it first. */
  source: string;
  /** Candidate: names that competition sites import beforehand (`List`, `deque`) are defined. */
  prelude?: boolean;
  limits: SandboxLimits;
  signal?: AbortSignal;
}

/**
 * A running session. Messages are JSON values in the tagged encoding of python/sandbox/calls.py,
 * kept as text so that no number passes through JavaScript.
 */
export interface Session {
  /**
   * Sends one message: one line of JSON, without the line end. `fresh` starts the processor and
   * wall limits anew; `running` goes on with what is left, so that the many calls of one test
   * share one budget. Opening the session starts a fresh budget for loading the source.
   */
  send(message: string, budget?: "fresh" | "running"): void;
  /**
   * Waits for the next message (the first is the answer to `load`), or for the end of the process.
   * Time counts only between a `send` and the message that follows it. A message longer than
   * `outputBytes` ends the process with `output_limit`.
   */
  receive(): Promise<SessionEvent>;
  /** Ends the process and whatever it left. */
  close(): Promise<void>;
}

/** A message from the process, or its end. */
export type SessionEvent =
  { kind: "message"; message: string } | { kind: "ended"; outcome: ProgramOutcome };

/** Runs programs. One object serves many callers at once and queues what does not fit. */
export interface Sandbox {
  readonly level: IsolationLevel;
  /** One outcome per test that ran, in order. On a compile error there is exactly one. */
  run(job: ProgramJob): Promise<ProgramOutcome[]>;
  /** Opens a session with a Python process. */
  openSession(job: SessionJob): Promise<Session>;
  /** Ends every process. Work in hand is rejected with SandboxError. */
  close(): Promise<void>;
}
