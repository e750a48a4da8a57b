// Warp-wide operations: shuffles, votes, matches, reductions.
#include <fmt/format.h>

#include <utility>

#include "worker/device/sim/operations.h"

namespace fsr::sim {
namespace {

using Kind = ExchangeStep::Kind;

// What an undefined shuffle gives: NaN as a float, so that it shows.
constexpr uint64_t kUndefined = 0xffffffffu;

// Calls f(lanes) for each set of active lanes that named the same members.
template <typename F>
void ForEachGroup(const Lanes* members, LaneMask active, F f) {
  if (members == nullptr) {
    f(active);
    return;
  }
  for (LaneMask rest = active; rest != 0;) {
    const uint64_t named = members->lane[LowestLane(rest)];
    LaneMask group = 0;
    for (LaneMask others = rest; others != 0; others &= others - 1) {
      const int lane = LowestLane(others);
      if (members->lane[lane] == named) group |= LaneMask{1} << lane;
    }
    rest &= ~group;
    f(group & static_cast<LaneMask>(named));
  }
}

// The lane that `lane` reads from, and whether it lies in its segment: shfl of the PTX ISA.
struct Origin {
  int lane;
  bool inside;
};

Origin ShuffleOrigin(Kind kind, int lane, uint64_t b, uint64_t c) {
  const int distance = static_cast<int>(b & 31);
  const int clamp = static_cast<int>(c & 31);
  const int segment = static_cast<int>(c >> 8 & 31);
  const int highest = (lane & segment) | (clamp & ~segment & 31);
  const int lowest = lane & segment;
  int from = lane;
  bool inside = true;
  switch (kind) {
    case Kind::kShuffleUp:
      from = lane - distance;
      inside = from >= highest;
      break;
    case Kind::kShuffleDown:
      from = lane + distance;
      inside = from <= highest;
      break;
    case Kind::kShuffleButterfly:
      from = lane ^ distance;
      inside = from <= highest;
      break;
    default:
      from = lowest | (distance & ~segment & 31);
      inside = from <= highest;
      break;
  }
  return {inside ? from : lane, inside};
}

void Shuffle(Warp& warp, const ExchangeStep& exchange, LaneMask active) {
  const Lanes value = *warp.Value(exchange.value);  // a copy: the destination may be the same register
  const Lanes& distance = *warp.Value(exchange.lane);
  const Lanes& clamp = *warp.Value(exchange.clamp);
  Lanes result;
  LaneMask inside = 0;
  for (int lane = 0; lane < kWarpSize; ++lane) {
    const Origin origin = ShuffleOrigin(exchange.kind, lane, distance.lane[lane], clamp.lane[lane]);
    inside |= LaneMask{origin.inside} << lane;
    const bool there = (active >> origin.lane & 1) != 0;
    result.lane[lane] = there ? value.lane[origin.lane] : kUndefined;
  }
  Lanes& target = *warp.Target(exchange.destination);
  for (LaneMask rest = active; rest != 0; rest &= rest - 1) {
    const int lane = LowestLane(rest);
    target.lane[lane] = result.lane[lane];
  }
  if (exchange.predicate != kNoPredicate) warp.SetPredicate(exchange.predicate, active, inside);
}

void SetLanes(Lanes& target, LaneMask lanes, uint64_t value) {
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) target.lane[LowestLane(rest)] = value;
}

void Vote(Warp& warp, const ExchangeStep& exchange, LaneMask group) {
  const LaneMask yes = warp.Predicate(exchange.source) & group;
  switch (exchange.kind) {
    case Kind::kVoteBallot:
      SetLanes(*warp.Target(exchange.destination), group, yes);
      return;
    case Kind::kVoteAll:
      warp.SetPredicate(exchange.predicate, group, yes == group ? kFullMask : 0);
      return;
    case Kind::kVoteAny:
      warp.SetPredicate(exchange.predicate, group, yes != 0 ? kFullMask : 0);
      return;
    default:
      warp.SetPredicate(exchange.predicate, group, yes == group || yes == 0 ? kFullMask : 0);
      return;
  }
}

LaneMask EqualLanes(const Lanes& value, uint64_t wanted, LaneMask group, uint64_t width) {
  LaneMask equal = 0;
  for (LaneMask rest = group; rest != 0; rest &= rest - 1) {
    const int lane = LowestLane(rest);
    if (((value.lane[lane] ^ wanted) & width) == 0) equal |= LaneMask{1} << lane;
  }
  return equal;
}

void Match(Warp& warp, const ExchangeStep& exchange, const Lanes& value, LaneMask group) {
  const uint64_t width = exchange.wide ? ~uint64_t{0} : kFullMask;
  Lanes& target = *warp.Target(exchange.destination);
  if (exchange.kind == Kind::kMatchAll) {
    const bool all = EqualLanes(value, value.lane[LowestLane(group)], group, width) == group;
    SetLanes(target, group, all ? group : 0);
    if (exchange.predicate != kNoPredicate) warp.SetPredicate(exchange.predicate, group, all ? kFullMask : 0);
    return;
  }
  for (LaneMask rest = group; rest != 0;) {
    const LaneMask equal = EqualLanes(value, value.lane[LowestLane(rest)], rest, width);
    SetLanes(target, equal, equal);
    rest &= ~equal;
  }
}

void Reduce(Warp& warp, const ExchangeStep& exchange, const Lanes& value, LaneMask group) {
  uint64_t result = value.lane[LowestLane(group)];
  for (LaneMask rest = group & (group - 1); rest != 0; rest &= rest - 1) {
    result = exchange.fold(result, value.lane[LowestLane(rest)]);
  }
  SetLanes(*warp.Target(exchange.destination), group, result);
}

void Elect(Warp& warp, const ExchangeStep& exchange, LaneMask group) {
  const int leader = LowestLane(group);
  SetLanes(*warp.Target(exchange.destination), group, static_cast<uint64_t>(leader));
  warp.SetPredicate(exchange.predicate, group, LaneMask{1} << leader);
}

}  // namespace

LaneMask MissingLanes(const Warp& warp, const Frame& frame, const ExchangeStep& exchange, LaneMask active) {
  const ValueRef ref = exchange.members;
  if (!ref.exists()) return 0;
  const Lanes& members = ref.base == ValueRef::kRegister ? frame.registers[ref.index] : *warp.Value(ref);
  LaneMask needed = 0;
  for (LaneMask rest = active; rest != 0; rest &= rest - 1) {
    needed |= static_cast<LaneMask>(members.lane[LowestLane(rest)]);
  }
  return needed & warp.alive & ~active;
}

bool RunExchange(Warp& warp, const Step& step, LaneMask active) {
  const ExchangeStep& exchange = warp.block->context->program->exchanges[step.detail];
  const Lanes* members = exchange.members.exists() ? warp.Value(exchange.members) : nullptr;
  if (members != nullptr) {
    for (LaneMask rest = active; rest != 0; rest &= rest - 1) {
      const int lane = LowestLane(rest);
      if ((members->lane[lane] >> lane & 1) != 0) continue;
      FaultNote note;
      note.kind = fault_kind::kInvalidOperand;
      note.what = fmt::format("lane {} runs {} with the member mask {:#010x}, which does not name it", lane,
                              warp.block->context->program->opcodes[step.opcode], members->lane[lane]);
      return warp.block->Fail(warp, step, lane, std::move(note));
    }
  }
  switch (exchange.kind) {
    case Kind::kBarrier:
      return true;
    case Kind::kShuffleUp:
    case Kind::kShuffleDown:
    case Kind::kShuffleButterfly:
    case Kind::kShuffleIndex:
      Shuffle(warp, exchange, active);
      return true;
    case Kind::kMatchAny:
    case Kind::kMatchAll: {
      const Lanes value = *warp.Value(exchange.value);
      ForEachGroup(members, active, [&](LaneMask group) { Match(warp, exchange, value, group); });
      return true;
    }
    case Kind::kReduce: {
      const Lanes value = *warp.Value(exchange.value);
      ForEachGroup(members, active, [&](LaneMask group) { Reduce(warp, exchange, value, group); });
      return true;
    }
    case Kind::kElect:
      ForEachGroup(members, active, [&](LaneMask group) { Elect(warp, exchange, group); });
      return true;
    default:
      ForEachGroup(members, active, [&](LaneMask group) { Vote(warp, exchange, group); });
      return true;
  }
}

}  // namespace fsr::sim
