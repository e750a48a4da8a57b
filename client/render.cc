#include "client/render.h"

#include <fmt/format.h>

#include "absl/time/time.h"

namespace fsr {
namespace {

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string SizesText(const google::protobuf::Map<std::string, int64_t>& sizes) {
  // A protobuf map has no order of its own.
  std::map<std::string, int64_t> sorted(sizes.begin(), sizes.end());
  std::string text;
  for (const auto& [name, value] : sorted) text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  return text;
}

// How a candidate stands in one line: outcome, time, speed-up, or what is wrong.
std::string Standing(const v1::Candidate& candidate) {
  const v1::Evaluation& evaluation = candidate.evaluation();
  if (evaluation.outcome() == v1::OUTCOME_UNSPECIFIED) return "being evaluated";
  std::string text = v1::Outcome_Name(evaluation.outcome());
  if (evaluation.outcome() == v1::MEASURED) {
    text += "  " + RenderLatency(evaluation.measurement().latency_us(), false);
    if (candidate.speedup() > 0) text += fmt::format("  {:.2f}x", candidate.speedup());
  } else {
    text += "  " + FirstLine(evaluation.diagnosis());
  }
  return text;
}

}  // namespace

std::string RenderLatency(double microseconds, bool estimated) {
  const char* suffix = estimated ? " (estimated)" : "";
  if (microseconds <= 0) return "-";
  if (microseconds >= 1e6) return fmt::format("{:.3f} s{}", microseconds / 1e6, suffix);
  if (microseconds >= 1e3) return fmt::format("{:.3f} ms{}", microseconds / 1e3, suffix);
  return fmt::format("{:.2f} us{}", microseconds, suffix);
}

std::string RenderState(v1::Job::State state) {
  std::string name = v1::Job::State_Name(state);
  for (char& c : name) c = static_cast<char>(std::tolower(c));
  return name;
}

std::string RenderTime(int64_t since_1970_us) {
  if (since_1970_us == 0) return "-";
  return absl::FormatTime("%Y-%m-%d %H:%M:%S", absl::FromUnixMicros(since_1970_us), absl::LocalTimeZone());
}

std::string ShortCandidate(const std::string& name) {
  const size_t slash = name.rfind('/');
  return slash == std::string::npos ? name : "#" + name.substr(slash + 1);
}

std::string RenderJobLine(const v1::Job& job) {
  const std::string speedup = job.speedup() > 0 ? fmt::format("{:.2f}x", job.speedup()) : "-";
  return fmt::format("{:<24} {:<10} {:<14} {:<8} {:>3} rounds {:>4} candidates {:>12} {:>8}  {}", job.name(),
                     RenderState(job.state()), job.device_kind(), job.generator().name(), job.round_count(),
                     job.candidate_count(), RenderLatency(job.best_latency_us(), false), speedup,
                     RenderTime(job.created_at_us()));
}

std::string RenderJob(const v1::Job& job) {
  std::string text = fmt::format("{}: {} on {} with {}, {}\n", job.name(), job.task(), job.device_kind(),
                                 job.generator().name(), RenderState(job.state()));
  if (!job.stop_reason().empty()) text += fmt::format("  why it ended     {}\n", job.stop_reason());
  if (!job.note().empty()) text += fmt::format("  waits            {}\n", job.note());
  text += fmt::format("  created          {}\n", RenderTime(job.created_at_us()));
  if (job.finished_at_us() != 0) {
    text += fmt::format("  took             {:.1f} s\n",
                        static_cast<double>(job.finished_at_us() - job.created_at_us()) / 1e6);
  }
  text += fmt::format("  rounds           {} of {}, {} candidates each\n", job.round_count(),
                      job.options().round_count_max(), job.options().candidates_per_round());
  text += fmt::format("  candidates       {}, of them {} duplicates answered from the store; {} evaluated\n",
                      job.candidate_count(), job.duplicate_count(), job.evaluation_count());
  text += fmt::format("  baseline         {}\n", RenderLatency(job.baseline_latency_us(), job.estimated()));
  if (job.best_candidate().empty()) {
    text += "  best             nothing is right yet\n";
  } else {
    text += fmt::format("  best             {}, {}: {:.2f}x the baseline\n", ShortCandidate(job.best_candidate()),
                        RenderLatency(job.best_latency_us(), job.estimated()), job.speedup());
  }
  text += fmt::format("  seed             {}\n  prompts          {}\n  task version     {}\n", job.options().seed(),
                      job.prompts_hash().substr(0, 16), job.task_hash().substr(0, 16));
  return text;
}

std::string RenderCandidateLine(const v1::Candidate& candidate) {
  std::string text = fmt::format("{:>5}  round {:<3} ", ShortCandidate(candidate.name()), candidate.round());
  text += candidate.incumbent() ? "* " : "  ";
  if (!candidate.duplicate_of().empty()) {
    text += fmt::format("duplicate of {}  ", ShortCandidate(candidate.duplicate_of()));
  }
  text += Standing(candidate);
  if (!candidate.change().empty()) text += "  " + FirstLine(candidate.change());
  return text;
}

std::string RenderEvaluation(const v1::Evaluation& evaluation) {
  std::string text = v1::Outcome_Name(evaluation.outcome()) + "\n";
  if (!evaluation.diagnosis().empty()) text += evaluation.diagnosis() + "\n";
  for (const v1::CaseResult& result : evaluation.cases()) {
    text += fmt::format("  case {:<32} {}{}\n", result.name().empty() ? SizesText(result.sizes()) : result.name(),
                        result.outcome() == v1::MEASURED ? "right" : v1::Outcome_Name(result.outcome()),
                        result.held_out() ? "  (held out)" : "");
  }
  if (evaluation.has_measurement()) {
    const v1::Measurement& m = evaluation.measurement();
    text += fmt::format("  time             {}", RenderLatency(m.latency_us(), m.estimated()));
    if (!m.estimated()) {
      text += fmt::format(" cold (quartiles {} to {}, {} samples, noise {:.2f} %), {} hot",
                          RenderLatency(m.latency_p25_us(), false), RenderLatency(m.latency_p75_us(), false),
                          m.sample_count(), 100 * m.noise(), RenderLatency(m.hot_latency_us(), false));
    }
    text += fmt::format(" at {}\n", SizesText(m.sizes()));
    if (m.floor_us() > 0) {
      text += fmt::format("  floor            {}: {:.0f} % of what the hardware allows{}\n",
                          RenderLatency(m.floor_us(), false), 100 * m.floor_share(),
                          m.limited_by().empty() ? "" : ", limited by " + m.limited_by());
    }
    text += fmt::format("  device           {}\n", m.device().name());
  }
  for (const v1::Comparison& c : evaluation.comparisons()) {
    text += fmt::format("  against {:<8} {} ({:.3f}x, {:.3f} to {:.3f})\n",
                        c.against() == v1::Comparison::BASELINE ? "baseline" : "best", v1::Verdict_Name(c.verdict()),
                        c.ratio(), c.ratio_low(), c.ratio_high());
  }
  for (const v1::Resources& r : evaluation.resources()) {
    text += fmt::format("  kernel {:<9} {} registers, {} B shared ({} dynamic), {} B local, {} B spilled\n", r.kernel(),
                        r.registers_per_thread(), r.shared_bytes_static() + r.shared_bytes_dynamic(),
                        r.shared_bytes_dynamic(), r.local_bytes_per_thread(), r.spill_bytes());
  }
  for (const v1::Counter& counter : evaluation.counters()) {
    text += fmt::format("  {:<40} {:.4g} {}\n", counter.name(), counter.value(), counter.unit());
  }
  for (const std::string& hint : evaluation.hints()) text += "  hint: " + hint + "\n";
  if (!evaluation.compile_log().empty()) text += "compiler:\n" + evaluation.compile_log() + "\n";
  return text;
}

std::string RenderCandidate(const v1::Candidate& candidate) {
  std::string text = fmt::format("{} (round {})\n", candidate.name(), candidate.round());
  if (!candidate.parent().empty()) text += fmt::format("parent   {}\n", candidate.parent());
  if (!candidate.dialogue().empty()) text += fmt::format("dialogue {}\n", candidate.dialogue());
  if (!candidate.change().empty()) text += fmt::format("change   {}\n", candidate.change());
  if (!candidate.duplicate_of().empty()) text += fmt::format("answered by {}\n", candidate.duplicate_of());
  if (candidate.speedup() > 0) text += fmt::format("speed-up {:.3f}x\n", candidate.speedup());
  text += candidate.evaluation().outcome() == v1::OUTCOME_UNSPECIFIED ? "being evaluated\n"
                                                                      : RenderEvaluation(candidate.evaluation());
  return text + "\n" + candidate.source() +
         (candidate.source().empty() || candidate.source().back() == '\n' ? "" : "\n");
}

std::string RenderDialogue(const v1::Dialogue& dialogue) {
  std::string text;
  for (const v1::Message& message : dialogue.messages()) {
    std::string who = v1::Message::Role_Name(message.role());
    std::string about = message.round() > 0 ? fmt::format(", round {}", message.round()) : "";
    if (message.branch() != v1::BRANCH_UNSPECIFIED) about += fmt::format(", {}", v1::Branch_Name(message.branch()));
    if (!message.candidate().empty()) about += fmt::format(", became {}", ShortCandidate(message.candidate()));
    text += fmt::format("──── {}{} ────\n{}\n\n", who, about, message.text());
  }
  return text;
}

std::string RenderWorkers(const v1::ListWorkersResponse& workers) {
  if (workers.workers().empty())
    return "no workers: start one with `fsr-worker --server HOST:PORT --device sim:h200`\n";
  std::string text;
  for (const v1::Worker& worker : workers.workers()) {
    std::string state = worker.lost()                 ? "lost"
                        : !worker.unhealthy().empty() ? "unhealthy: " + worker.unhealthy()
                        : worker.draining()           ? "draining"
                        : worker.lease_count() > 0    ? "busy"
                                                      : "idle";
    text += fmt::format("{:<28} {:<14} {:<28} {:>5} evaluations  {}\n", worker.id(), worker.device().kind(),
                        worker.device().name(), worker.statistics().evaluation_count(), state);
  }
  return text;
}

std::string RenderLessons(const v1::ListLessonsResponse& lessons) {
  if (lessons.lessons().empty())
    return "no lessons yet: a job that finds a faster kernel than the baseline leaves one\n";
  std::string text;
  for (const v1::Lesson& lesson : lessons.lessons()) {
    text +=
        fmt::format("{} on {}: {:.2f}x the baseline{}, {}, {}\n", lesson.task(), lesson.device_kind(), lesson.speedup(),
                    lesson.estimated() ? " (estimated)" : "", lesson.candidate(), RenderTime(lesson.created_at_us()));
    if (!lesson.tags().empty()) text += fmt::format("tags: {}\n", fmt::join(lesson.tags(), ", "));
    text += lesson.text() + "\n";
  }
  return text;
}

std::string RenderEvent(const v1::Event& event) {
  switch (event.what_case()) {
    case v1::Event::kJobStateChanged: {
      const std::string& note = event.job_state_changed().job().note();
      return note.empty() ? "" : "waits: " + note;
    }
    case v1::Event::kBaselineMeasured: {
      const v1::Evaluation& e = event.baseline_measured().evaluation();
      if (e.outcome() != v1::MEASURED)
        return "baseline  " + v1::Outcome_Name(e.outcome()) + "  " + FirstLine(e.diagnosis());
      return "baseline  " + RenderLatency(e.measurement().latency_us(), e.measurement().estimated());
    }
    case v1::Event::kRoundStarted: {
      std::string branches;
      std::map<std::string, uint32_t> sorted(event.round_started().branches().begin(),
                                             event.round_started().branches().end());
      for (const auto& [name, count] : sorted) {
        branches += fmt::format("{}{} {}", branches.empty() ? "" : ", ", count, name);
      }
      return fmt::format("round {}: {}", event.round_started().round(), branches);
    }
    case v1::Event::kCandidateEvaluated: {
      const v1::Candidate& c = event.candidate_evaluated().candidate();
      return fmt::format("{:>5}  {}{}", ShortCandidate(c.name()), Standing(c),
                         c.change().empty() ? "" : "  " + FirstLine(c.change()));
    }
    case v1::Event::kIncumbentChanged: {
      const v1::Candidate& c = event.incumbent_changed().candidate();
      return fmt::format(
          "    *  {} is the best so far: {}, {:.2f}x", ShortCandidate(c.name()),
          RenderLatency(c.evaluation().measurement().latency_us(), c.evaluation().measurement().estimated()),
          c.speedup());
    }
    default:
      return "";
  }
}

}  // namespace fsr
