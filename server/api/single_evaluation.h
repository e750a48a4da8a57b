// One kernel, judged and measured without a search.
#pragma once

#include <functional>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "fsr/v1/evaluation.pb.h"
#include "fsr/v1/search.pb.h"
#include "server/api/waiting.h"
#include "server/store/store.h"

namespace fsr {

// Enqueues it and waits for the result. INVALID_ARGUMENT says what is wrong with the request. If the client goes or the
// server stops meanwhile, the evaluation is cancelled: nobody would read the result.
absl::StatusOr<v1::Evaluation> EvaluateSingle(const v1::EvaluateRequest& request, Store* store, Clock* clock,
                                              Waiting* waiting, const std::function<bool()>& client_gone);

}  // namespace fsr
