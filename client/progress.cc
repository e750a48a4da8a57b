#include "client/progress.h"

#include <fmt/format.h>

#include "client/render.h"

namespace fsr {

void Progress::Show(const v1::Event& event) {
  switch (event.what_case()) {
    case v1::Event::kRoundStarted:
      round_ = event.round_started().round();
      break;
    case v1::Event::kCandidateCreated:
      ++made_;
      break;
    case v1::Event::kCandidateEvaluated:
      ++evaluated_;
      break;
    case v1::Event::kIncumbentChanged: {
      const v1::Candidate& best = event.incumbent_changed().candidate();
      best_ = fmt::format("best {} {:.2f}x", ShortCandidate(best.name()), best.speedup());
      break;
    }
    default:
      break;
  }
  const std::string line = RenderEvent(event);
  // A stream that is taken up again tells a note once more.
  if (!line.empty() && !(event.has_job_state_changed() && line == last_note_)) Say(line);
  if (event.has_job_state_changed()) last_note_ = line;
  if (terminal_) DrawStatus();
}

void Progress::Say(const std::string& line) {
  ClearStatus();
  fmt::print(out_, "{}\n", line);
  std::fflush(out_);
}

void Progress::ClearStatus() {
  if (!status_shown_) return;
  fmt::print(out_, "\r\x1b[K");
  std::fflush(out_);
  status_shown_ = false;
}

void Progress::DrawStatus() {
  fmt::print(out_, "\r\x1b[Kround {} · {} of {} candidates evaluated · {}", round_, evaluated_, made_, best_);
  std::fflush(out_);
  status_shown_ = true;
}

}  // namespace fsr
