// "Did you mean …?" for names that people and models mistype.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fsr {

// The fewest insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`, ASCII case ignored.
int EditDistance(std::string_view a, std::string_view b);

// "; did you mean X?" with the nearest of `known`, or nothing if none is near.
std::string DidYouMean(std::string_view given, const std::vector<std::string>& known);

}  // namespace fsr
