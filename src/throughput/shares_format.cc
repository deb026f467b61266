// The bytes of reports, grants and plans. Numbers as in number_codec.h, reals as 8 bytes, lists and
// texts with their length before them.
//
//   stored   := kind version content check
//   report   := session ask holds units-by-tablet list(tick)
//   tick     := micros list(tablet use let-pass{2} list(range use list(bound)))
//   use      := used{2} refused{2}
//   record   := session answers valid-micros generation confirmed grant (0 | 1 grant)
//            units-by-tablet
//   grant    := base list(tablet (0 | 1 part{2}) list(range part{2}))
//   plan     := allocator round units-by-tablet list(tablet ready{2} list(bound))
//   units-by-tablet := list(tablet real{2})
//   range    := bound (0 bound | 1)         1: to the end of the hash space
//   bound    := hash sort
#include "throughput/number_codec.h"
#include "throughput/shares.h"

namespace stator::throughput {
namespace {

constexpr char kVersion = 1;
constexpr size_t kMostSortBytes = 1 << 16;
constexpr size_t kMostNameBytes = 1 << 10;
constexpr uint64_t kMostHalves = uint64_t{1} << 50;

void Append(std::string* out, const std::array<double, kAccesses>& reals) {
  for (const double real : reals) AppendReal(out, real);
}
void Append(std::string* out, const Halves& halves) {
  for (const int64_t count : halves) AppendNumber(out, count);
}
void Append(std::string* out, const KeyBound& bound) {
  AppendNumber(out, bound.hash);
  AppendText(out, bound.sort);
}
void Append(std::string* out, const KeyRange& range) {
  Append(out, range.from);
  AppendNumber(out, uint64_t{range.to_end});
  if (!range.to_end) Append(out, range.to);
}
void Append(std::string* out, const LimitUse& use) {
  Append(out, use.used);
  Append(out, use.refused);
}
void Append(std::string* out, const std::map<uint32_t, Units>& units) {
  AppendNumber(out, uint64_t{units.size()});
  for (const auto& [tablet, its] : units) {
    AppendNumber(out, uint64_t{tablet});
    Append(out, its);
  }
}
void Append(std::string* out, const Grant& grant) {
  AppendReal(out, grant.base);
  AppendNumber(out, uint64_t{grant.resources.size()});
  for (const auto& [tablet, of] : grant.resources) {
    AppendNumber(out, uint64_t{tablet});
    AppendNumber(out, uint64_t{of.whole.has_value()});
    if (of.whole) Append(out, *of.whole);
    AppendNumber(out, uint64_t{of.ranges.size()});
    for (const Grant::RangeParts& entry : of.ranges) {
      Append(out, entry.range);
      Append(out, entry.parts);
    }
  }
}

std::array<double, kAccesses> Reals(NumberReader* in) {
  std::array<double, kAccesses> reals;
  for (double& real : reals) {
    real = in->Real();
    // Also false of what is no number.
    in->Require(real >= 0 && real < 1e18);
  }
  return reals;
}
Parts ReadParts(NumberReader* in) {
  const Parts parts = Reals(in);
  for (const double part : parts) in->Require(part <= 1 + 1e-6);
  return parts;
}
Halves ReadHalves(NumberReader* in) {
  Halves halves;
  for (int64_t& count : halves) count = in->Whole(kMostHalves);
  return halves;
}
KeyBound ReadBound(NumberReader* in) {
  KeyBound bound{in->Number(), {}};
  bound.sort = in->Text(kMostSortBytes);
  return bound;
}
KeyRange ReadRange(NumberReader* in) {
  KeyRange range{ReadBound(in), {}, false};
  range.to_end = in->Number(1) == 1;
  if (!range.to_end) {
    range.to = ReadBound(in);
    in->Require(range.from < range.to);
  }
  return range;
}
LimitUse ReadUse(NumberReader* in) {
  LimitUse use;
  use.used = ReadHalves(in);
  use.refused = ReadHalves(in);
  return use;
}
uint32_t ReadTablet(NumberReader* in) { return static_cast<uint32_t>(in->Number(UINT32_MAX)); }

// Every entry has at least a byte, so damaged lengths end the loops early.
template <typename Entry>
void ReadList(NumberReader* in, const Entry& entry) {
  for (uint64_t left = in->Number(); left > 0 && in->ok(); --left) entry();
}
std::map<uint32_t, Units> ReadUnits(NumberReader* in) {
  std::map<uint32_t, Units> units;
  ReadList(in, [&] {
    const uint32_t tablet = ReadTablet(in);
    units[tablet] = Reals(in);
  });
  return units;
}
Grant ReadGrant(NumberReader* in) {
  Grant grant;
  grant.base = in->Real();
  in->Require(grant.base >= 0 && grant.base <= 1 + 1e-6);
  ReadList(in, [&] {
    Grant::OfResource& of = grant.resources[ReadTablet(in)];
    if (in->Number(1) == 1) of.whole = ReadParts(in);
    ReadList(in, [&] {
      const KeyRange range = ReadRange(in);
      // Ascending and disjoint.
      if (!of.ranges.empty()) {
        const KeyRange& last = of.ranges.back().range;
        in->Require(!last.to_end && last.to <= range.from);
      }
      of.ranges.push_back({range, ReadParts(in)});
    });
  });
  return grant;
}

std::string Begin(char kind) { return {kind, kVersion}; }
std::string End(std::string out) {
  AppendCheck(&out);
  return out;
}

// The content, or why there is none.
Result<std::string_view> ContentOf(char kind, std::string_view bytes) {
  if (bytes.size() < 2 || bytes[0] != kind)
    return CorruptionError("the bytes are not what a process tells of its part of the capacity");
  if (bytes[1] != kVersion) {
    return CorruptionError(
        "what a process tells of its part of the capacity is of a version that "
        "this program does not know");
  }
  const auto body = WithoutCheck(bytes);
  if (!body || body->size() < 2)
    return CorruptionError("what a process tells of its part of the capacity is damaged");
  return body->substr(2);
}
Error Damaged() {
  return CorruptionError("what a process tells of its part of the capacity is damaged");
}

}  // namespace

std::string Report::Encode() const {
  std::string out = Begin('R');
  AppendNumber(&out, session);
  AppendNumber(&out, ask);
  AppendNumber(&out, holds);
  Append(&out, surrendered);
  AppendNumber(&out, uint64_t{ticks.size()});
  for (const Tick& tick : ticks) {
    AppendNumber(&out, tick.micros);
    AppendNumber(&out, uint64_t{tick.use.size()});
    for (const auto& [tablet, use] : tick.use) {
      AppendNumber(&out, uint64_t{tablet});
      Append(&out, use.whole);
      Append(&out, use.let_pass);
      AppendNumber(&out, uint64_t{use.ranges.size()});
      for (const RangeUse& of : use.ranges) {
        Append(&out, of.range);
        Append(&out, of.use);
        AppendNumber(&out, uint64_t{of.keys.size()});
        for (const KeyBound& key : of.keys) Append(&out, key);
      }
    }
  }
  return End(std::move(out));
}

Result<Report> Report::Decode(std::string_view bytes) {
  ASSIGN_OR_RETURN(const std::string_view content, ContentOf('R', bytes));
  NumberReader in(content);
  Report report;
  report.session = in.Number();
  report.ask = in.Number();
  report.holds = in.Number();
  report.surrendered = ReadUnits(&in);
  ReadList(&in, [&] {
    Tick& tick = report.ticks.emplace_back();
    tick.micros = in.Whole();
    ReadList(&in, [&] {
      ResourceUse& use = tick.use[ReadTablet(&in)];
      use.whole = ReadUse(&in);
      use.let_pass = ReadHalves(&in);
      ReadList(&in, [&] {
        RangeUse& of = use.ranges.emplace_back();
        of.range = ReadRange(&in);
        of.use = ReadUse(&in);
        ReadList(&in, [&] { of.keys.push_back(ReadBound(&in)); });
      });
    });
  });
  if (!in.AtEnd()) return Damaged();
  return report;
}

std::string GrantRecord::Encode() const {
  std::string out = Begin('G');
  AppendNumber(&out, session);
  AppendNumber(&out, answers);
  AppendNumber(&out, valid_micros);
  AppendNumber(&out, generation);
  AppendNumber(&out, confirmed);
  Append(&out, grant);
  AppendNumber(&out, uint64_t{before.has_value()});
  if (before) Append(&out, *before);
  Append(&out, moved);
  return End(std::move(out));
}

Result<GrantRecord> GrantRecord::Decode(std::string_view bytes) {
  ASSIGN_OR_RETURN(const std::string_view content, ContentOf('G', bytes));
  NumberReader in(content);
  GrantRecord record;
  record.session = in.Number();
  record.answers = in.Number();
  record.valid_micros = in.Whole();
  record.generation = in.Number();
  record.confirmed = in.Number();
  record.grant = ReadGrant(&in);
  if (in.Number(1) == 1) record.before = ReadGrant(&in);
  record.moved = ReadUnits(&in);
  if (!in.AtEnd()) return Damaged();
  return record;
}

std::string SharePlan::Encode() const {
  std::string out = Begin('P');
  AppendText(&out, allocator);
  AppendNumber(&out, round);
  Append(&out, pool);
  AppendNumber(&out, uint64_t{resources.size()});
  for (const auto& [tablet, of] : resources) {
    AppendNumber(&out, uint64_t{tablet});
    Append(&out, of.ready);
    AppendNumber(&out, uint64_t{of.bounds.size()});
    for (const KeyBound& bound : of.bounds) Append(&out, bound);
  }
  return End(std::move(out));
}

Result<SharePlan> SharePlan::Decode(std::string_view bytes) {
  ASSIGN_OR_RETURN(const std::string_view content, ContentOf('P', bytes));
  NumberReader in(content);
  SharePlan plan;
  plan.allocator = in.Text(kMostNameBytes);
  plan.round = in.Number();
  plan.pool = ReadUnits(&in);
  ReadList(&in, [&] {
    OfResource& of = plan.resources[ReadTablet(&in)];
    of.ready = Reals(&in);
    ReadList(&in, [&] { of.bounds.push_back(ReadBound(&in)); });
  });
  if (!in.AtEnd()) return Damaged();
  return plan;
}

}  // namespace stator::throughput
