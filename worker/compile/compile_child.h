// The compiling child of a worker (`fsr-worker --role=compile`): one CompileJob after another, until its parent goes.
#pragma once

#include <cstdint>

#include "absl/status/status.h"

namespace fsr {

// Processor time that one job may use: a compile that the parent's deadline missed still ends.
inline constexpr uint64_t kCompileCpuSecondsMax = 120;

// Answers every job on `channel_fd` with a CompileReply. Where there is no compiler, the replies say so. Returns OK
// when the other side closes the channel.
absl::Status ServeCompileJobs(int channel_fd);

}  // namespace fsr
