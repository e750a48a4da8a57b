// The program fsr-worker: the agent, and under --role the children that it starts of itself.
#pragma once

namespace fsr {

int WorkerMain(int argc, char** argv);

}  // namespace fsr
