// Messages into text for people. Pure: tested without a server.
#pragma once

#include <string>

#include "fsr/v1/search.pb.h"

namespace fsr {

// "17.2 us", "1.43 ms"; estimates carry " (estimated)".
std::string RenderLatency(double microseconds, bool estimated);
std::string RenderState(v1::Job::State state);  // "running"
std::string RenderTime(int64_t since_1970_us);  // "2026-11-30 20:05:38"
// "#3", for a candidate's full name.
std::string ShortCandidate(const std::string& name);

std::string RenderJobLine(const v1::Job& job);  // one row of `fsr jobs`
std::string RenderJob(const v1::Job& job);      // all of it
std::string RenderCandidateLine(const v1::Candidate& candidate);
std::string RenderCandidate(const v1::Candidate& candidate);  // outcome, cases, log, counters, source
std::string RenderEvaluation(const v1::Evaluation& evaluation);
std::string RenderDialogue(const v1::Dialogue& dialogue);
std::string RenderLessons(const v1::ListLessonsResponse& lessons);  // without sources
std::string RenderWorkers(const v1::ListWorkersResponse& workers);
// One line, or empty for an event that says nothing new to a person.
std::string RenderEvent(const v1::Event& event);

}  // namespace fsr
