// Directions that a performance prompt may suggest to try first, so that the N answers of a round differ.
#pragma once

#include <string>
#include <vector>

#include "fsr/v1/evaluation.pb.h"

namespace fsr {

// What is worth trying for a kernel that is limited by `limited_by` ("memory", "compute", …: Measurement.limited_by) on
// `device`: first what speaks to the limit, then what may always help. Directions that the device is too old for are
// not among them. Never empty.
std::vector<std::string> DirectionsFor(const std::string& limited_by, const v1::DeviceFacts& device);

}  // namespace fsr
