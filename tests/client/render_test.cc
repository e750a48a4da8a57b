#include "client/render.h"

#include <catch2/catch.hpp>

namespace fsr {

TEST_CASE("latencies are printed in the unit a person would choose") {
  CHECK(RenderLatency(0, false) == "-");
  CHECK(RenderLatency(17.234, false) == "17.23 us");
  CHECK(RenderLatency(1234.5, true) == "1.234 ms (estimated)");
  CHECK(RenderLatency(2'500'000, false) == "2.500 s");
}

TEST_CASE("an evaluation's text never calls an estimate a time without saying so") {
  v1::Evaluation evaluation;
  evaluation.set_outcome(v1::MEASURED);
  evaluation.mutable_measurement()->set_latency_us(12);
  evaluation.mutable_measurement()->set_estimated(true);
  CHECK(RenderEvaluation(evaluation).find("(estimated)") != std::string::npos);
  evaluation.mutable_measurement()->set_estimated(false);
  CHECK(RenderEvaluation(evaluation).find("(estimated)") == std::string::npos);
}

TEST_CASE("a failed candidate's line shows the first line of its diagnosis, not the whole log") {
  v1::Candidate candidate;
  candidate.set_name("jobs/transpose-1/candidates/7");
  candidate.set_round(2);
  candidate.mutable_evaluation()->set_outcome(v1::COMPILE_ERROR);
  candidate.mutable_evaluation()->set_diagnosis("line 3: expected a ';'\nsecond line");
  const std::string line = RenderCandidateLine(candidate);
  CHECK(line.find("#7") != std::string::npos);
  CHECK(line.find("COMPILE_ERROR") != std::string::npos);
  CHECK(line.find("expected a ';'") != std::string::npos);
  CHECK(line.find("second line") == std::string::npos);
}

TEST_CASE("a dialogue is printed in order, with who spoke and what it became") {
  v1::Dialogue dialogue;
  auto* ask = dialogue.add_messages();
  ask->set_role(v1::Message::USER);
  ask->set_round(1);
  ask->set_branch(v1::TASK);
  ask->set_text("write it");
  auto* answer = dialogue.add_messages();
  answer->set_role(v1::Message::ASSISTANT);
  answer->set_candidate("jobs/transpose-1/candidates/1");
  answer->set_text("here");
  const std::string text = RenderDialogue(dialogue);
  const size_t asked = text.find("write it"), answered = text.find("here");
  REQUIRE(asked != std::string::npos);
  REQUIRE(answered != std::string::npos);
  CHECK(asked < answered);
  CHECK(text.find("USER, round 1, TASK") != std::string::npos);
  CHECK(text.find("became #1") != std::string::npos);
}

TEST_CASE("a lost worker is not called idle") {
  v1::ListWorkersResponse workers;
  auto* worker = workers.add_workers();
  worker->set_id("w1");
  worker->set_lost(true);
  CHECK(RenderWorkers(workers).find("lost") != std::string::npos);
  CHECK(RenderWorkers(workers).find("idle") == std::string::npos);
}

}  // namespace fsr
