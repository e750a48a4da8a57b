#include "worker/agent/worker_main.h"

int main(int argc, char** argv) { return fsr::WorkerMain(argc, argv); }
