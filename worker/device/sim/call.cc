// Calls: a frame for each, parameters copied by value.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "worker/device/sim/address_space.h"
#include "worker/device/sim/operations.h"

namespace fsr::sim {
namespace {

constexpr uint32_t kCallDepthMax = 256;
constexpr size_t kAssertTextBytesMax = 512;

// A zero-terminated string that the kernel points to.
std::string ReadText(const Warp& warp, uint64_t address) {
  const Region& region = warp.block->context->memory->region(SlotOf(address));
  if (region.host == nullptr || address < region.begin) return "?";
  std::string text;
  for (uint64_t at = address - region.begin; at < region.bytes && text.size() < kAssertTextBytesMax; ++at) {
    const char letter = static_cast<char>(region.host[at]);
    if (letter == 0) break;
    text += letter;
  }
  return text;
}

uint64_t ArgumentOf(const Warp& warp, const ParameterSlot& slot, int lane) {
  uint64_t value = 0;
  const size_t at = static_cast<size_t>(lane) * warp.frame->function->parameter_bytes + slot.offset;
  std::memcpy(&value, warp.frame->parameters.data() + at, std::min<size_t>(slot.bytes, sizeof value));
  return value;
}

bool FailAssert(Warp& warp, const Step& step, const CallStep& call, LaneMask active) {
  const int lane = LowestLane(active);
  FaultNote note;
  note.kind = fault_kind::kAssert;
  note.what =
      fmt::format("the assertion {} in {} does not hold", ReadText(warp, ArgumentOf(warp, call.arguments[0], lane)),
                  ReadText(warp, ArgumentOf(warp, call.arguments[3], lane)));
  const uint64_t line = ArgumentOf(warp, call.arguments[2], lane);
  Step place = step;
  if (place.line == 0) place.line = static_cast<uint32_t>(line);
  return warp.block->Fail(warp, place, lane, std::move(note));
}

const FunctionCode* FindByAddress(const Program& program, uint64_t address) {
  for (const FunctionCode& function : program.functions) {
    if (function.address == address) return &function;
  }
  return nullptr;
}

void CopySlots(const Frame& from, const std::vector<ParameterSlot>& from_slots, Frame& to,
               const std::vector<ParameterSlot>& to_slots, LaneMask lanes) {
  const size_t count = std::min(from_slots.size(), to_slots.size());
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
    const size_t lane = static_cast<size_t>(LowestLane(rest));
    for (size_t i = 0; i < count; ++i) {
      std::memcpy(to.parameters.data() + lane * to.function->parameter_bytes + to_slots[i].offset,
                  from.parameters.data() + lane * from.function->parameter_bytes + from_slots[i].offset,
                  std::min(from_slots[i].bytes, to_slots[i].bytes));
    }
  }
}

}  // namespace

bool RunCall(Warp& warp, const Step& step, LaneMask active) {
  const Program& program = *warp.block->context->program;
  const CallStep& call = program.calls[step.detail];
  const uint32_t next = warp.path().step + 1;
  // The text of printf goes nowhere: a kernel under evaluation has nobody to print to.
  if (call.callee == CallStep::Callee::kPrintf) {
    warp.path().step = next;
    return true;
  }
  if (call.callee == CallStep::Callee::kAssertFail) return FailAssert(warp, step, call, active);
  if (active != warp.path().mask) warp.Split(active, next);
  const FunctionCode* function = &program.functions[call.function];
  if (call.callee == CallStep::Callee::kIndirect) {
    // Lanes that call other functions go their own way, and come here again.
    const Lanes& address = *warp.Value(call.address);
    const uint64_t wanted = address.lane[LowestLane(active)];
    LaneMask same = 0;
    for (LaneMask rest = active; rest != 0; rest &= rest - 1) {
      if (address.lane[LowestLane(rest)] == wanted) same |= LaneMask{1} << LowestLane(rest);
    }
    if (same != active) warp.Split(same, warp.path().step);
    active = same;
    function = FindByAddress(program, wanted);
    if (function == nullptr) {
      FaultNote note;
      note.kind = fault_kind::kInvalidCall;
      note.what = fmt::format("call to address {:#x}, where no function is", wanted);
      return warp.block->Fail(warp, step, LowestLane(active), std::move(note));
    }
  }
  const uint64_t local_end =
      uint64_t{warp.frame->local_begin} + warp.frame->function->local_bytes + function->local_bytes;
  if (warp.frame->depth + 1 >= kCallDepthMax || local_end > program.local_bytes_per_thread) {
    FaultNote note;
    note.kind = fault_kind::kStackOverflow;
    note.what = fmt::format("the stack overflows: {} is called {} calls deep", function->name, warp.frame->depth + 1);
    return warp.block->Fail(warp, step, LowestLane(active), std::move(note));
  }
  Frame& caller = *warp.frame;
  warp.EnterFrame(*function);
  warp.frame->call = &call;
  warp.frame->return_step = next;
  CopySlots(caller, call.arguments, *warp.frame, function->parameters, active);
  return true;
}

void Warp::LeaveFrame(LaneMask lanes) {
  Frame& callee = *frame;
  CopySlots(callee, callee.function->returns, *callee.caller, callee.call->returns, lanes);
  callee.live &= ~lanes;
  path().frame = callee.caller;
  path().step = callee.return_step;
}

}  // namespace fsr::sim
