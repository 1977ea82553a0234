// The steps of a pattern, each measured alone, stacked beside the whole: what is longer than the whole was gained by not waiting for all of the step before.
const STEP_HEIGHT = 20;
const stepBars = (wholes, stepsOf, named, label, width) => {
  const bars = wholes.flatMap((whole) => [
    { text: named(whole), parts: [{ seconds: whole.median_s, colour: REST, text: "whole" }] },
    { text: "steps alone", parts: stepsOf(whole).map((step) => ({ seconds: step.median_s, colour: KINDS[(step.step - 1) % KINDS.length], text: `step ${step.step}` })) },
  ]);
  const [left, right, top] = [170, 80, 6];
  const most = Math.max(...bars.map((bar) => sum(bar.parts.map((part) => part.seconds))));
  const x = (seconds) => (seconds / most) * (width - left - right);
  const height = top + bars.length * (STEP_HEIGHT + 4);
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, role: "img", "aria-label": label, "data-chart": "steps" });
  bars.forEach((bar, at) => {
    const y = top + at * (STEP_HEIGHT + 4);
    picture.append(svg("text", { x: left - 6, y: y + 15, "text-anchor": "end", class: at % 2 ? "soft" : null }, fit(bar.text, left - 12)));
    let before = 0;
    for (const { seconds, colour, text } of bar.parts) {
      picture.append(svg("rect", { x: left + x(before), y, width: x(seconds), height: STEP_HEIGHT, fill: colour, "data-part": text, "data-seconds": seconds }, tip(`${bar.text}: ${text}, ${secondsText(seconds)}`)));
      before += seconds;
    }
    picture.append(svg("text", { x: left + x(before) + 6, y: y + 15 }, secondsText(before)));
  });
  const steps = Math.max(...bars.map((bar) => bar.parts.length));
  return [legend([[REST, "whole"], ...range(steps).map((at) => [KINDS[at % KINDS.length], `step ${at + 1}`])]), el("div", { class: "scroll" }, picture)];
};
