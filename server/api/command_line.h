// The fsrd program.
#pragma once

namespace fsr {

// Exit codes: 0 stopped by a signal, 2 it could not start or was called wrongly, 3
// (kExitDatabaseInUse) another one holds the database.
int FsrdMain(int argc, char** argv);

}  // namespace fsr
