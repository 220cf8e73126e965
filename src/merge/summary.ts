/** Sizes and results of a merge in words. */
import type { TensorDifference } from "./compare.js";
import type { MergeReport } from "./merge.js";

/** The report as lines for a terminal; `isListed` adds one line per tensor. */
export function describeMerge(report: MergeReport, { isListed }: { isListed: boolean }): string {
  const gigabytes = (report.totalBytes / 1e9).toFixed(2);
  const lines = [
    `${report.out}: ${report.tensors.length} tensors, ${report.parameters} parameters, ` +
      `${gigabytes} GB in ${report.files.length} file${report.files.length === 1 ? "" : "s"}`,
    `from ${report.worldSize} rank${report.worldSize === 1 ? "" : "s"}; ` +
      `${report.checkedStorages} storages matched their recorded checksums; ` +
      "every tensor was read back",
  ];
  if (report.lora !== null) {
    const { mode, rank, alpha, scales, weights } = report.lora;
    const what = mode === "fuse" ? "fused into" : "written to lora_adapter/ for";
    const factors = scales.map((scale) => Number(scale.toPrecision(6))).join(" and ");
    const strength = `rank ${rank}, alpha ${alpha}, scale ${factors}`;
    lines.push(`adapter ${what} ${weights} weights: ${strength}`);
  }
  if (report.differences !== null) lines.push(...describeDifferences(report.differences));
  else if (isListed) {
    for (const { name, dtype, shape, crc32 } of report.tensors) {
      lines.push(`${crc32.toString(16).padStart(8, "0")}  ${dtype} [${shape}]  ${name}`);
    }
  }
  return lines.join("\n") + "\n";
}

function describeDifferences(differences: TensorDifference[]): string[] {
  return differences.map((item) => {
    switch (item.kind) {
      case "compared":
        return `${item.largest.toExponential(2)}  ${item.name}${item.largest === 0 ? "" : ` at [${item.at}]`}`;
      case "missing":
        return `missing   ${item.name} is not in the ${item.from}`;
      case "shapes":
        return `shapes    ${item.name}: [${item.model}], reference [${item.reference}]`;
    }
  });
}

const UNITS: Record<string, number> = { "": 1, KB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12 };

/** Reads a size such as `5GB`, `500 MB` or a number of bytes; null if it is none. */
export function parseBytes(text: string): number | null {
  const match = /^(\d+(?:\.\d+)?)\s*([KMGT]B)?$/i.exec(text);
  if (match === null) return null;
  const bytes = Number(match[1]) * UNITS[(match[2] ?? "").toUpperCase()];
  return bytes >= 1 ? bytes : null;
}
