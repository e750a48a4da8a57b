#include "worker/meter/resources.h"

#include <algorithm>
#include <array>

namespace fsr {
namespace {

v1::Dim3 ToProto(const std::array<uint32_t, 3>& dimensions) {
  v1::Dim3 proto;
  proto.set_x(dimensions[0]);
  proto.set_y(dimensions[1]);
  proto.set_z(dimensions[2]);
  return proto;
}

// The compiler knows a template by its lowered name, a launch by the name that was written.
v1::Resources CompiledResources(const CompiledKernel& compiled, const std::string& kernel) {
  const auto lowered = compiled.lowered_names.find(kernel);
  for (const v1::Resources& resources : compiled.resources) {
    const bool same_lowered = lowered != compiled.lowered_names.end() && resources.kernel() == lowered->second;
    if (resources.kernel() == kernel || same_lowered) return resources;
  }
  return {};
}

bool SameLaunch(const ResolvedLaunch& a, const ResolvedLaunch& b) {
  return a.kernel == b.kernel && a.grid == b.grid && a.block == b.block && a.shared_bytes == b.shared_bytes;
}

}  // namespace

std::vector<v1::Resources> ResourcesOf(const CompiledKernel& compiled, const ResolvedPlan& plan) {
  std::vector<v1::Resources> all;
  for (auto launch = plan.launches.begin(); launch != plan.launches.end(); ++launch) {
    if (std::any_of(plan.launches.begin(), launch,
                    [&](const ResolvedLaunch& earlier) { return SameLaunch(earlier, *launch); })) {
      continue;
    }
    v1::Resources resources = CompiledResources(compiled, launch->kernel);
    resources.set_kernel(launch->kernel);
    resources.set_shared_bytes_dynamic(launch->shared_bytes);
    *resources.mutable_grid() = ToProto(launch->grid);
    *resources.mutable_block() = ToProto(launch->block);
    all.push_back(std::move(resources));
  }
  return all;
}

}  // namespace fsr
