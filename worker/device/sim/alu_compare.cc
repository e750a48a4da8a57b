// setp and set: a comparison gives one bit by lane, which a predicate may be combined with.
#include <cmath>
#include <type_traits>

#include "worker/device/sim/alu_families.h"
#include "worker/device/sim/alu_float.h"
#include "worker/device/sim/alu_formats.h"

namespace fsr::sim::alu {
namespace {

// The ordered ones are false for a NaN, the unordered ones (…u) true. lo, ls, hi and hs are lt, le, gt and ge.
enum class Relation { kEq, kNe, kLt, kLe, kGt, kGe, kEqu, kNeu, kLtu, kLeu, kGtu, kGeu, kNum, kNan };

template <Relation kRelation, class T>
inline bool Holds(T a, T b) {
  const bool unordered = a != a || b != b;
  switch (kRelation) {
    case Relation::kEq:
      return a == b;
    case Relation::kNe:
      return a != b && !unordered;
    case Relation::kLt:
      return a < b;
    case Relation::kLe:
      return a <= b;
    case Relation::kGt:
      return a > b;
    case Relation::kGe:
      return a >= b;
    case Relation::kEqu:
      return !(a != b) || unordered;
    case Relation::kNeu:
      return a != b;
    case Relation::kLtu:
      return !(a >= b);
    case Relation::kLeu:
      return !(a > b);
    case Relation::kGtu:
      return !(a <= b);
    case Relation::kGeu:
      return !(a < b);
    case Relation::kNum:
      return !unordered;
    case Relation::kNan:
      return unordered;
  }
  return false;
}

template <class T, bool kFlush>
inline auto Read(uint64_t lane) {
  if constexpr (std::is_enum_v<T>) {
    return kFlush ? Widen(Flush(FromLane<T>(lane))) : Widen(FromLane<T>(lane));
  } else if constexpr (kFlush) {
    return Flush(FromLane<T>(lane));
  } else {
    return FromLane<T>(lane);
  }
}

// The comparison of bits kShift and up of each lane.
template <Relation kRelation, class T, bool kFlush, int kShift = 0>
FSR_INLINE LaneMask Compare(const AluArguments& arguments) {
  const uint64_t* a = arguments.sources[0]->lane.data();
  const uint64_t* b = arguments.sources[1]->lane.data();
  LaneMask result = 0;
  for (int i = 0; i < kWarpSize; ++i) {
    result |= static_cast<LaneMask>(Holds<kRelation>(Read<T, kFlush>(a[i] >> kShift), Read<T, kFlush>(b[i] >> kShift)))
              << i;
  }
  return result;
}

enum class Combine : uint64_t { kNone, kAnd, kOr, kXor };

LaneMask Apply(Combine combine, LaneMask result, LaneMask other) {
  switch (combine) {
    case Combine::kAnd:
      return result & other;
    case Combine::kOr:
      return result | other;
    case Combine::kXor:
      return result ^ other;
    default:
      return result;
  }
}

void StorePredicate(LaneMask mask, LaneMask* predicate, LaneMask value) {
  if (predicate != nullptr) *predicate = (value & mask) | (*predicate & ~mask);
}

// AluOperation::parameter: the Combine, and above it for `set` the lane value of true.
constexpr int kTrueShift = 8;
Combine CombineOf(const AluOperation& operation) { return static_cast<Combine>(operation.parameter & 0xffu); }

template <Relation kRelation, class T, bool kFlush>
struct SetPredicate {
  static FSR_INLINE void Run(const AluOperation& operation, const AluArguments& arguments) {
    const LaneMask result = Compare<kRelation, T, kFlush>(arguments), other = arguments.source_predicates[0];
    const Combine combine = CombineOf(operation);
    StorePredicate(arguments.mask, arguments.predicate, Apply(combine, result, other));
    StorePredicate(arguments.mask, arguments.second_predicate, Apply(combine, ~result, other));
  }
};
// Of a pair, p is the comparison of the low halves and q that of the high ones.
template <Relation kRelation, class H, bool kFlush>
struct SetPredicatePair {
  static FSR_INLINE void Run(const AluOperation& operation, const AluArguments& arguments) {
    const LaneMask low = Compare<kRelation, H, kFlush>(arguments), other = arguments.source_predicates[0];
    const LaneMask high = Compare<kRelation, H, kFlush, 16>(arguments);
    const Combine combine = CombineOf(operation);
    StorePredicate(arguments.mask, arguments.predicate, Apply(combine, low, other));
    StorePredicate(arguments.mask, arguments.second_predicate, Apply(combine, high, other));
  }
};

// set is setp on all lanes, and then a value for each.
template <Relation kRelation, class T, bool kFlush>
struct SetValue {
  static void Run(const AluOperation& operation, const AluArguments& arguments) {
    LaneMask result = 0;
    AluArguments compared = arguments;
    compared.mask = kFullMask;
    compared.predicate = &result;
    Compiled<SetPredicate<kRelation, T, kFlush>>()(operation, compared);
    const uint64_t value = operation.parameter >> kTrueShift;
    StoreLanes(arguments.mask, arguments.destination, [&](int i) { return SelectBits(result, i) & value; });
  }
};
template <Relation kRelation, class H, bool kFlush>
struct SetValuePair {
  static void Run(const AluOperation& operation, const AluArguments& arguments) {
    LaneMask low = 0, high = 0;
    AluArguments compared = arguments;
    compared.mask = kFullMask;
    compared.predicate = &low;
    compared.second_predicate = &high;
    Compiled<SetPredicatePair<kRelation, H, kFlush>>()(operation, compared);
    const uint64_t value = operation.parameter >> kTrueShift & 0xffffu;
    StoreLanes(arguments.mask, arguments.destination,
               [&](int i) { return (SelectBits(low, i) & value) | (SelectBits(high, i) & value << 16); });
  }
};

// The bodies by relation; those of setp are compiled for the machine.
template <Relation kRelation, class T, bool kFlush>
struct PredicateFunction {
  static AluFunction Get() { return Compiled<SetPredicate<kRelation, T, kFlush>>(); }
};
template <Relation kRelation, class T, bool kFlush>
struct PredicatePairFunction {
  static AluFunction Get() { return Compiled<SetPredicatePair<kRelation, T, kFlush>>(); }
};
template <Relation kRelation, class T, bool kFlush>
struct ValueFunction {
  static AluFunction Get() { return &SetValue<kRelation, T, kFlush>::Run; }
};
template <Relation kRelation, class T, bool kFlush>
struct ValuePairFunction {
  static AluFunction Get() { return &SetValuePair<kRelation, T, kFlush>::Run; }
};

struct Written {
  Relation relation;
  Combine combine = Combine::kNone;
  bool flush = false;
};

constexpr int kFirstUnsignedAlias = 14;

std::optional<Written> TakeComparison(Reader& reader) {
  const std::optional<int> relation = reader.TakeOneOf({"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu",
                                                        "gtu", "geu", "num", "nan", "lo", "ls", "hi", "hs"});
  if (!relation) return std::nullopt;
  Written written{static_cast<Relation>(*relation)};
  if (*relation >= kFirstUnsignedAlias) {
    written.relation = static_cast<Relation>(*relation - kFirstUnsignedAlias + static_cast<int>(Relation::kLt));
  }
  if (const std::optional<int> combine = reader.TakeOneOf({"and", "or", "xor"})) {
    written.combine = static_cast<Combine>(*combine + 1);
  }
  written.flush = reader.Take("ftz");
  return written;
}

template <template <Relation, class, bool> class Body, class T, bool kFlush>
AluFunction ForRelation(Relation relation) {
  switch (relation) {
    case Relation::kEq:
      return Body<Relation::kEq, T, kFlush>::Get();
    case Relation::kNe:
      return Body<Relation::kNe, T, kFlush>::Get();
    case Relation::kLt:
      return Body<Relation::kLt, T, kFlush>::Get();
    case Relation::kLe:
      return Body<Relation::kLe, T, kFlush>::Get();
    case Relation::kGt:
      return Body<Relation::kGt, T, kFlush>::Get();
    case Relation::kGe:
      return Body<Relation::kGe, T, kFlush>::Get();
    default:
      break;
  }
  if constexpr (!std::is_integral_v<T>) {
    switch (relation) {
      case Relation::kEqu:
        return Body<Relation::kEqu, T, kFlush>::Get();
      case Relation::kNeu:
        return Body<Relation::kNeu, T, kFlush>::Get();
      case Relation::kLtu:
        return Body<Relation::kLtu, T, kFlush>::Get();
      case Relation::kLeu:
        return Body<Relation::kLeu, T, kFlush>::Get();
      case Relation::kGtu:
        return Body<Relation::kGtu, T, kFlush>::Get();
      case Relation::kGeu:
        return Body<Relation::kGeu, T, kFlush>::Get();
      case Relation::kNum:
        return Body<Relation::kNum, T, kFlush>::Get();
      case Relation::kNan:
        return Body<Relation::kNan, T, kFlush>::Get();
      default:
        break;
    }
  }
  return nullptr;
}

template <template <Relation, class, bool> class Body, class T>
AluFunction ForFlush(const Written& written) {
  return written.flush ? ForRelation<Body, T, true>(written.relation) : ForRelation<Body, T, false>(written.relation);
}

template <template <Relation, class, bool> class Body, template <Relation, class, bool> class PairBody>
AluFunction ForType(Type type, const Written& written) {
  const Relation relation = written.relation;
  switch (type) {
    case Type::kF32:
      return ForFlush<Body, float>(written);
    case Type::kF16:
      return ForFlush<Body, F16>(written);
    case Type::kBF16:
      return ForFlush<Body, BF16>(written);
    case Type::kF16x2:
      return ForFlush<PairBody, F16>(written);
    case Type::kBF16x2:
      return ForFlush<PairBody, BF16>(written);
    default:
      break;
  }
  if (written.flush) return nullptr;
  if (type == Type::kF64) return ForRelation<Body, double, false>(relation);
  if (IsSigned(type)) {
    return ForInteger(type, [&](auto zero) { return ForRelation<Body, decltype(zero), false>(relation); });
  }
  const bool is_bits = NameOf(type).front() == 'b';
  if (is_bits && relation != Relation::kEq && relation != Relation::kNe) return nullptr;
  return ForWidth(type, [&](auto zero) { return ForRelation<Body, decltype(zero), false>(relation); });
}

// The lane value of "true" for a destination of set: all ones, or 1.0.
std::optional<uint64_t> TrueValue(Type destination, Type source) {
  const bool pair = IsPacked(source);
  switch (destination) {
    case Type::kU32:
    case Type::kS32:
      return 0xffffffffu;
    case Type::kU16:
    case Type::kS16:
      return IsHalf(source) && !pair ? std::optional(uint64_t{0xffff}) : std::nullopt;
    case Type::kF32:
      return pair ? std::nullopt : std::optional(uint64_t{0x3f800000u});
    case Type::kF16:
      return pair ? std::nullopt : std::optional(uint64_t{0x3c00u});
    case Type::kBF16:
      return pair ? std::nullopt : std::optional(uint64_t{0x3f80u});
    case Type::kF16x2:
      return source == Type::kF16x2 ? std::optional(uint64_t{0x3c00u}) : std::nullopt;
    case Type::kBF16x2:
      return source == Type::kBF16x2 ? std::optional(uint64_t{0x3f80u}) : std::nullopt;
    default:
      return std::nullopt;
  }
}

absl::StatusOr<AluOperation> FinishCompare(Reader& reader, AluOperation operation, AluBinding destination,
                                           Combine combine, Type type) {
  using B = AluBinding;
  operation.pipe = IsHalf(type) ? Pipe::kHalf : type == Type::kF64 ? Pipe::kDouble : Pipe::kAlu;
  if (combine == Combine::kNone) return reader.Finish(operation, {destination, B::kSource, B::kSource}, {type, type});
  return reader.Finish(operation, {destination, B::kSource, B::kSource, B::kSourcePredicate}, {type, type});
}

}  // namespace

absl::StatusOr<AluOperation> DecodeSetp(Reader& reader) {
  const std::optional<Written> written = TakeComparison(reader);
  const std::optional<Type> type = reader.TakeType();
  if (!written || !type) return reader.Unknown();
  AluOperation operation;
  operation.parameter = static_cast<uint64_t>(written->combine);
  operation.function = ForType<PredicateFunction, PredicatePairFunction>(*type, *written);
  return FinishCompare(reader, operation, AluBinding::kPredicate, written->combine, *type);
}

absl::StatusOr<AluOperation> DecodeSet(Reader& reader) {
  const std::optional<Written> written = TakeComparison(reader);
  const std::optional<Type> destination = reader.TakeType(), source = reader.TakeType();
  if (!written || !destination || !source) return reader.Unknown();
  const std::optional<uint64_t> value = TrueValue(*destination, *source);
  if (!value) return reader.Unknown();
  AluOperation operation;
  operation.parameter = static_cast<uint64_t>(written->combine) | *value << kTrueShift;
  operation.function = ForType<ValueFunction, ValuePairFunction>(*source, *written);
  return FinishCompare(reader, operation, AluBinding::kDestination, written->combine, *source);
}

}  // namespace fsr::sim::alu
