#include "server/api/command_line.h"

int main(int argc, char** argv) { return fsr::FsrdMain(argc, argv); }
