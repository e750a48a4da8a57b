#include "client/commands.h"

int main(int argc, char** argv) { return fsr::ClientMain(argc, argv); }
