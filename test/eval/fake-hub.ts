/** A hub of one data set on this machine: enough of its API to list and download files. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

/** Serves the files of one data set and remembers which were fetched. */
export class FakeHub {
  readonly fetched = new Set<string>();
  readonly #server: Server;

  constructor(id: string, files: Record<string, string>) {
    const info = {
      _id: "1",
      id,
      sha: "abc123",
      private: false,
      gated: false,
      downloads: 0,
      likes: 0,
      lastModified: "2026-01-01T00:00:00Z",
    };
    const tree = Object.entries(files).map(([path, text]) => ({
      type: "file",
      path,
      size: Buffer.byteLength(text),
      oid: "1",
    }));
    this.#server = createServer((request, response) => {
      const path = request.url ?? "";
      if (path.startsWith(`/api/datasets/${id}/tree/`)) return response.end(JSON.stringify(tree));
      if (path.startsWith(`/api/datasets/${id}`)) return response.end(JSON.stringify(info));
      const name = path.split("/resolve/abc123/")[1]?.split("?")[0] ?? "";
      if (files[name] === undefined) return response.writeHead(404).end();
      this.fetched.add(name);
      const body = Buffer.from(files[name]);
      const [, first, last] = /bytes=(\d+)-(\d+)?/.exec(request.headers.range ?? "") ?? [];
      const start = Number(first ?? 0);
      const end = Math.min(Number(last ?? body.length - 1), body.length - 1) + 1;
      response.writeHead(first === undefined ? 200 : 206, {
        etag: '"1"',
        "content-range": `bytes ${start}-${end - 1}/${body.length}`,
        "content-length": end - start,
      });
      return response.end(body.subarray(start, end));
    });
  }

  async open(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
