// What `fsr-worker --role=compile` does, without the rest of the worker.
#include "common/subprocess.h"
#include "worker/compile/compile_child.h"

int main() { return fsr::ServeCompileJobs(fsr::Subprocess::kChannelFd).ok() ? 0 : 1; }
