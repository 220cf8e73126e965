import { describe, expect, test } from "vitest";
import { FairQueue, QueueRefusal } from "./fair-queue.js";

/** A job that ends when told to. */
function manualJob() {
  let end = () => {};
  const done = new Promise<void>((resolve) => (end = resolve));
  return { run: () => done, end };
}

const job = (client: string, run: () => Promise<unknown>) => ({ client, run, deadlineMs: null });
const settle = () => new Promise((resolve) => setImmediate(resolve));

describe("FairQueue", () => {
  test("lets clients take turns, each in its own order", async () => {
    const queue = new FairQueue({ concurrency: 1, capacity: 10 });
    const first = manualJob();
    const order: string[] = [];
    const note = (name: string) => async () => void order.push(name);
    const all = [
      queue.add(job("a", first.run)),
      queue.add(job("a", note("a1"))),
      queue.add(job("a", note("a2"))),
      queue.add(job("a", note("a3"))),
      queue.add(job("b", note("b1"))),
      queue.add(job("b", note("b2"))),
    ];
    first.end();
    await Promise.all(all);
    expect(order).toEqual(["a1", "b1", "a2", "b2", "a3"]);
  });

  test("waits, and does not refuse at once, with a deadline longer than a timer can be", async () => {
    const queue = new FairQueue({ concurrency: 1, capacity: 10 });
    const first = manualJob();
    const running = queue.add(job("a", first.run));
    const waiting = queue.add({ ...job("a", async () => "ran"), deadlineMs: 1e12 });
    await new Promise((resolve) => setTimeout(resolve, 20));
    first.end();
    expect(await waiting).toBe("ran");
    await running;
  });

  test("never runs more than its concurrency at once", async () => {
    const queue = new FairQueue({ concurrency: 2, capacity: 100 });
    let running = 0;
    let most = 0;
    const run = async () => {
      most = Math.max(most, ++running);
      await settle();
      running--;
    };
    await Promise.all(Array.from({ length: 20 }, () => queue.add(job("a", run))));
    expect(most).toBe(2);
  });

  test("refuses at once what does not fit", async () => {
    const queue = new FairQueue({ concurrency: 1, capacity: 1 });
    const first = manualJob();
    const running = queue.add(job("a", first.run));
    const waiting = queue.add(job("a", async () => {}));
    expect(queue.hasRoomFor(1)).toBe(false);
    await expect(queue.add(job("b", async () => {}))).rejects.toMatchObject({ reason: "full" });
    first.end();
    await Promise.all([running, waiting]);
    expect(queue.hasRoomFor(2)).toBe(true);
  });

  test("refuses a job that could not start by its deadline, and only that one", async () => {
    const queue = new FairQueue({ concurrency: 1, capacity: 5 });
    const first = manualJob();
    const running = queue.add(job("a", first.run));
    const patient = queue.add(job("a", async () => "ran"));
    await expect(
      queue.add({ client: "a", run: async () => {}, deadlineMs: 5 }),
    ).rejects.toMatchObject({ reason: "deadline" });
    first.end();
    await running;
    expect(await patient).toBe("ran");
    expect(queue.load).toMatchObject({ waiting: 0, running: 0 });
  });

  test("forgets a waiting job whose caller left", async () => {
    const queue = new FairQueue({ concurrency: 1, capacity: 5 });
    const first = manualJob();
    const running = queue.add(job("a", first.run));
    const leaving = new AbortController();
    let ran = false;
    const left = queue.add({
      client: "b",
      run: async () => void (ran = true),
      deadlineMs: null,
      signal: leaving.signal,
    });
    leaving.abort();
    await expect(left).rejects.toBeInstanceOf(QueueRefusal);
    first.end();
    await running;
    await settle();
    expect(ran).toBe(false);
  });

  test("drains: finishes what it accepted and refuses what comes after", async () => {
    const queue = new FairQueue({ concurrency: 1, capacity: 5 });
    const first = manualJob();
    const running = queue.add(job("a", first.run));
    const waiting = queue.add(job("a", async () => "ran"));
    const drained = queue.drain();
    await expect(queue.add(job("a", async () => {}))).rejects.toMatchObject({ reason: "closed" });
    first.end();
    await drained;
    await running;
    expect(await waiting).toBe("ran");
  });
});
