// What the long-running programs do with signals and their parent.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include "absl/status/status.h"

namespace fsr {

// Of fsrd, if another one holds its database: the caller may look for that one. Anything else will not pass by itself.
inline constexpr int kExitDatabaseInUse = 3;

// Blocks SIGTERM and SIGINT in this thread and all that it starts later, so that one thread can wait for them; a closed
// socket's SIGPIPE is ignored. REQUIRES: no other thread yet.
sigset_t BlockStopSignals();

// From now on SIGTERM comes when `parent` ends. CANCELLED if it has ended already. `parent` is getppid() at the start.
absl::Status DieWithParent(pid_t parent);

}  // namespace fsr
