// Image files.

import { crc32, deflateSync } from "node:zlib";

/** A PNG: stripes of a colour, or noise, which no compression makes smaller. */
export function png(width, height, colour) {
  const rows = Buffer.alloc(height * (1 + width * 3));
  let state = 1;
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width * 3; x += 1) {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      const isLight = (Math.floor(x / 3 / 20) + Math.floor(y / 20)) % 2 === 0;
      rows[y * (1 + width * 3) + 1 + x] = colour ? colour[x % 3] * (isLight ? 1 : 0.7) : state >>> 24;
    }
  }
  const chunk = (name, data) => {
    const named = Buffer.concat([Buffer.from(name), data]);
    const ends = [Buffer.alloc(4), Buffer.alloc(4)];
    ends[0].writeUInt32BE(data.length);
    ends[1].writeUInt32BE(crc32(named));
    return Buffer.concat([ends[0], named, ends[1]]);
  };
  const head = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 8, 2, 0, 0, 0]);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([signature, chunk("IHDR", head), chunk("IDAT", deflateSync(rows)), chunk("IEND", Buffer.alloc(0))]);
}
