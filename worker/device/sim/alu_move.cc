// mov in all its forms, and choosing between two values.
#include <cmath>

#include "worker/device/sim/alu_families.h"
#include "worker/device/sim/alu_map.h"

namespace fsr::sim::alu {
namespace {

template <class T>
T Move(T a) {
  return a;
}

struct MovePredicate {
  static void Run(const AluOperation&, const AluArguments& arguments) {
    if (arguments.predicate == nullptr) return;
    *arguments.predicate = (arguments.source_predicates[0] & arguments.mask) | (*arguments.predicate & ~arguments.mask);
  }
};

// Values of `bits` bits each, taken apart or put together. A b128 is two 64-bit words, low one first.
struct Shape {
  int bits = 0, count = 0;
};
uint64_t Pack(Shape shape) { return static_cast<uint64_t>(shape.bits) | static_cast<uint64_t>(shape.count) << 8; }
Shape Unpack(uint64_t bits) { return {static_cast<int>(bits & 0xffu), static_cast<int>(bits >> 8)}; }

uint64_t LowMask(int bits) { return bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1; }

std::array<Lanes*, 4> DestinationsOf(const AluArguments& arguments) {
  return {arguments.destination, arguments.destination_high, arguments.further_destinations[0],
          arguments.further_destinations[1]};
}

// A destination may be the register that is taken apart, so that it is read whole first.
struct UnpackVector {
  static void Run(const AluOperation& operation, const AluArguments& arguments) {
    const Shape shape = Unpack(operation.parameter);
    const int per_word = 64 / shape.bits;
    std::array<Lanes, 2> words{};
    for (int w = 0; w * per_word < shape.count; ++w) {
      words[static_cast<size_t>(w)] = *arguments.sources[static_cast<size_t>(w)];
    }
    const std::array<Lanes*, 4> destinations = DestinationsOf(arguments);
    for (int k = 0; k < shape.count; ++k) {
      const uint64_t* in = words[static_cast<size_t>(k / per_word)].lane.data();
      const int shift = k % per_word * shape.bits;
      StoreLanes(arguments.mask, destinations[static_cast<size_t>(k)],
                 [&](int i) { return in[i] >> shift & LowMask(shape.bits); });
    }
  }
};

struct PackVector {
  static void Run(const AluOperation& operation, const AluArguments& arguments) {
    const Shape shape = Unpack(operation.parameter);
    const int per_word = 64 / shape.bits;
    std::array<Lanes, 2> words{};
    for (int k = 0; k < shape.count; ++k) {
      const uint64_t* in = arguments.sources[static_cast<size_t>(k)]->lane.data();
      uint64_t* out = words[static_cast<size_t>(k / per_word)].lane.data();
      const int shift = k % per_word * shape.bits;
      for (int i = 0; i < kWarpSize; ++i) out[i] |= (in[i] & LowMask(shape.bits)) << shift;
    }
    const std::array<Lanes*, 4> destinations = DestinationsOf(arguments);
    for (int w = 0; w * per_word < shape.count; ++w) {
      const uint64_t* in = words[static_cast<size_t>(w)].lane.data();
      StoreLanes(arguments.mask, destinations[static_cast<size_t>(w)], [&](int i) { return in[i]; });
    }
  }
};

struct MoveWide {
  static void Run(const AluOperation&, const AluArguments& arguments) {
    const Lanes low = *arguments.sources[0], high = *arguments.sources[1];
    StoreLanes(arguments.mask, arguments.destination, [&](int i) { return low.lane[static_cast<size_t>(i)]; });
    StoreLanes(arguments.mask, arguments.destination_high, [&](int i) { return high.lane[static_cast<size_t>(i)]; });
  }
};

absl::StatusOr<AluOperation> DecodeVectorMov(Reader& reader, Type type, bool unpack) {
  using B = AluBinding;
  const ptx::Operand& vector = reader.instruction().operands[unpack ? 0 : 1];
  const int count = static_cast<int>(vector.elements.size());
  if (count != 2 && count != 4) return reader.Unknown();
  const Shape shape{BitsOf(type) / count, count};
  if (shape.bits < 8) return reader.Unknown();
  const Type element = shape.bits == 8    ? Type::kB8
                       : shape.bits == 16 ? Type::kB16
                       : shape.bits == 32 ? Type::kB32
                                          : Type::kB64;
  AluOperation operation;
  operation.parameter = Pack(shape);
  const bool wide = type == Type::kB128;
  if (unpack) {
    operation.function = Compiled<UnpackVector>();
    return reader.Finish(operation, {B::kVectorDestination, wide ? B::kWideSource : B::kSource}, {type});
  }
  operation.function = Compiled<PackVector>();
  return reader.Finish(operation, {wide ? B::kWideDestination : B::kDestination, B::kVectorSource},
                       {element, element, element, element});
}

// The choice by lane: a where `condition` has the lane's bit, else b.
template <class Condition>
struct Choose {
  static FSR_INLINE void Run(const AluOperation& operation, const AluArguments& arguments) {
    const uint64_t* a = arguments.sources[0]->lane.data();
    const uint64_t* b = arguments.sources[1]->lane.data();
    const uint64_t width = operation.parameter;
    const Condition condition(arguments);
    StoreLanes(arguments.mask, arguments.destination, [&](int i) {
      const uint64_t select = condition(i);
      return ((a[i] & select) | (b[i] & ~select)) & width;
    });
  }
};

struct ByPredicate {
  explicit ByPredicate(const AluArguments& arguments) : mask(arguments.source_predicates[0]) {}
  uint64_t operator()(int lane) const { return SelectBits(mask, lane); }
  LaneMask mask;
};
struct BySign {
  explicit BySign(const AluArguments& arguments) : lanes(arguments.sources[2]->lane.data()) {}
  uint64_t operator()(int lane) const { return static_cast<int32_t>(lanes[lane]) >= 0 ? ~uint64_t{0} : 0; }
  const uint64_t* lanes;
};
// -0 counts as zero, a NaN chooses b. Flushing a small negative number to -0 makes it choose a.
template <bool kFlush>
struct ByFloatSign {
  explicit ByFloatSign(const AluArguments& arguments) : lanes(arguments.sources[2]->lane.data()) {}
  uint64_t operator()(int lane) const {
    const float value = FromLane<float>(lanes[lane]);
    const bool flushed = kFlush && std::fabs(value) < 0x1p-126f;
    return value >= 0.0f || flushed ? ~uint64_t{0} : 0;
  }
  const uint64_t* lanes;
};

bool IsSelectable(Type type) {
  const int bits = BitsOf(type);
  return bits >= 16 && bits <= 64 && !IsPacked(type) && !IsHalf(type) && type != Type::kTF32;
}

}  // namespace

absl::StatusOr<AluOperation> DecodeMov(Reader& reader) {
  using B = AluBinding;
  const std::optional<Type> type = reader.TakeType();
  if (!type || reader.operand_count() != 2) return reader.Unknown();
  const std::vector<ptx::Operand>& operands = reader.instruction().operands;
  const bool unpack = operands[0].kind == ptx::Operand::Kind::kVector;
  const bool pack = operands[1].kind == ptx::Operand::Kind::kVector;
  if (unpack && pack) return reader.Unknown();
  if (unpack || pack) return DecodeVectorMov(reader, *type, unpack);
  AluOperation operation;
  if (*type == Type::kPredicate) {
    operation.function = &MovePredicate::Run;
    return reader.Finish(operation, {B::kPredicate, B::kSourcePredicate}, {});
  }
  if (*type == Type::kB128) {
    operation.function = &MoveWide::Run;
    return reader.Finish(operation, {B::kWideDestination, B::kWideSource}, {Type::kB64, Type::kB64});
  }
  switch (BitsOf(*type)) {
    case 16:
      operation.function = Kernel<&Move<uint16_t>>();
      break;
    case 32:
      operation.function = Kernel<&Move<uint32_t>>();
      break;
    case 64:
      operation.function = Kernel<&Move<uint64_t>>();
      break;
  }
  return reader.Finish(operation, {*type});
}

absl::StatusOr<AluOperation> DecodeSelp(Reader& reader) {
  using B = AluBinding;
  const std::optional<Type> type = reader.TakeType();
  if (!type || !IsSelectable(*type)) return reader.Unknown();
  AluOperation operation;
  operation.parameter = LowMask(BitsOf(*type));
  operation.function = Compiled<Choose<ByPredicate>>();
  return reader.Finish(operation, {B::kDestination, B::kSource, B::kSource, B::kSourcePredicate}, {*type, *type});
}

absl::StatusOr<AluOperation> DecodeSlct(Reader& reader) {
  const bool flush = reader.Take("ftz");
  const std::optional<Type> type = reader.TakeType(), condition = reader.TakeType();
  if (!type || !condition || !IsSelectable(*type)) return reader.Unknown();
  AluOperation operation;
  operation.parameter = LowMask(BitsOf(*type));
  if (*condition == Type::kS32 && !flush) operation.function = Compiled<Choose<BySign>>();
  if (*condition == Type::kF32) {
    operation.function = flush ? Compiled<Choose<ByFloatSign<true>>>() : Compiled<Choose<ByFloatSign<false>>>();
  }
  return reader.Finish(operation, {*type, *type, *condition});
}

}  // namespace fsr::sim::alu
