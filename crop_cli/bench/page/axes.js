// Scales and their ticks. A scale maps values to pixels; `clamp` puts values beyond its ends on the ends.
function linear(low, high, from, to) {
  const scale = (v) => from + ((Math.max(low, Math.min(high, v)) - low) / (high - low || 1)) * (to - from);
  const raw = (high - low) / Math.max(2, Math.abs(to - from) / 75);
  const power = 10 ** Math.floor(Math.log10(raw || 1));
  const step = [1, 2, 5, 10].map((k) => k * power).find((k) => k >= raw * 0.999);
  scale.ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k += 1) scale.ticks.push(Number((k * step).toPrecision(12)));
  return scale;
}
function log(low, high, from, to) {
  const [a, b] = [Math.log10(low), Math.log10(high)];
  const scale = (v) => from + ((Math.log10(Math.max(low, Math.min(high, v))) - a) / (b - a || 1)) * (to - from);
  const decades = [];
  for (let k = Math.ceil(a - 1e-9); k <= b + 1e-9; k += 1) decades.push(k);
  const room = Math.abs(to - from) / Math.max(1, b - a);
  // Few decades: 2 and 5 in between; many: every other one.
  const within = room > 110 ? [1, 2, 5] : [1];
  const every = Math.max(1, Math.ceil(38 / room));
  scale.ticks = [];
  for (const k of [decades[0] - 1, ...decades]) {
    if (((k % every) + every) % every) continue;
    for (const m of within) {
      const v = Number((m * 10 ** k).toPrecision(6));
      if (v >= low * 0.999999 && v <= high * 1.000001) scale.ticks.push(v);
    }
  }
  return scale;
}

// The decades around positive values, at least one.
function decades(values, least = 1e-12) {
  let [low, high] = [Infinity, -Infinity];
  for (const v of values) if (v > 0) { low = Math.min(low, v); high = Math.max(high, v); }
  if (low > high) return [0.1, 10];
  const [a, b] = [Math.floor(Math.log10(Math.max(low, least)) + 1e-9), Math.ceil(Math.log10(high) - 1e-9)];
  return [10 ** a, 10 ** Math.max(b, a + 1)];
}
const SUPERSCRIPT = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };
function powerText(v) {
  if (v >= 0.001 && v < 1e5) return number(v);
  const k = Math.round(Math.log10(v));
  return Math.abs(Math.log10(v) - k) < 1e-6 ? `10${[...String(k)].map((c) => SUPERSCRIPT[c]).join("")}` : v.toExponential(0);
}
const percentTick = (v) => `${Number((100 * v).toPrecision(3))} %`;
