// What pages with xtape inside share: finding elements, and asking the engine.
"use strict";

const byId = (id) => document.getElementById(id);
let ask;  // question -> answer

/** Calls begin() when questions can be asked. */
function whenEngineIsReady(begin) {
  xtapeEngine().then((engine) => {
    ask = (question) =>
      JSON.parse(engine.ccall("xtape_answer", "string", ["string"], [JSON.stringify(question)]));
    begin();
  });
}

/** The answer, or null after saying what is wrong. */
function answered(question) {
  const answer = ask(question);
  const empty = Object.values(question).flat().some(Number.isNaN);
  byId("problem").textContent = empty ? "Every field needs a number." : answer.error ?? "";
  return answer.error ? null : answer;
}
