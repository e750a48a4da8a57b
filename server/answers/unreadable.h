// The kinds of answers that hold no candidate, each with what the generator is told.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "server/answers/read_answer.h"

namespace fsr::unreadable {

UnreadableAnswer Empty();                                                // answer_empty
UnreadableAnswer Refusal();                                              // answer_refused
UnreadableAnswer TooLong();                                              // answer_too_long
UnreadableAnswer CutOff(std::string source);                             // answer_cut_off
UnreadableAnswer CutOffThinking();                                       // answer_cut_off
UnreadableAnswer NoCode(size_t block_count);                             // answer_without_code
UnreadableAnswer NoKernel(std::string source);                           // answer_without_kernel
UnreadableAnswer NoLaunch(std::string source, std::string_view kernel);  // answer_without_launch
UnreadableAnswer HostCode(std::string source, std::string_view what);    // answer_with_host_code
UnreadableAnswer SourceTooLong(size_t bytes);                            // source_too_long
UnreadableAnswer NothingToEdit();                                        // edit_without_file
UnreadableAnswer EditFails(std::string_view why);                        // edit_does_not_apply

// Whether `text` says that no answer will be given.
bool IsRefusal(std::string_view text);

}  // namespace fsr::unreadable
