// Code put into text so that it can be found again.
#pragma once

#include <string>
#include <string_view>

namespace fsr {

// `text` as a fenced block with the tag `language`. The fence is longer than any inside `text`, so that nothing in it
// can end the block.
std::string FencedBlock(std::string_view text, std::string_view language);

}  // namespace fsr
