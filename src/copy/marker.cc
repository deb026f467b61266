#include "copy/marker.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <utility>

#include "table/item_value.h"

namespace stator::copy {
namespace {

constexpr std::string_view kPrefix = "copy/";
constexpr std::array<std::pair<Marker::Phase, std::string_view>, 5> kPhases = {
    {{Marker::Phase::kCopying, "copying"},
     {Marker::Phase::kVerifying, "verifying"},
     {Marker::Phase::kFinishing, "finishing"},
     {Marker::Phase::kDiffers, "differs"},
     {Marker::Phase::kDone, "done"}}};

std::string KeyOf(std::string_view table) { return std::string(kPrefix) + std::string(table); }

std::string Hexadecimal(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<uint8_t>(byte));
  return text;
}

template <typename T>
bool Read(std::string_view text, int base, T* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value, base);
  return error == std::errc() && end == text.data() + text.size();
}

bool ReadBytes(std::string_view text, std::string* bytes) {
  if (text.size() % 2 != 0) return false;
  bytes->clear();
  for (; !text.empty(); text.remove_prefix(2)) {
    uint8_t byte = 0;
    if (!Read(text.substr(0, 2), 16, &byte)) return false;
    bytes->push_back(static_cast<char>(byte));
  }
  return true;
}

bool ReadField(std::string_view name, std::string_view text, Marker* marker) {
  if (name == "source") marker->source = text;
  if (name == "next") return ReadBytes(text, &marker->next);
  if (name == "items") return Read(text, 10, &marker->digest.items);
  if (name == "bytes") return Read(text, 10, &marker->digest.bytes);
  if (name == "low") return Read(text, 16, &marker->digest.low);
  if (name == "high") return Read(text, 16, &marker->digest.high);
  if (name != "phase") return true;
  for (const auto& [phase, its] : kPhases) {
    if (its != text) continue;
    marker->phase = phase;
    return true;
  }
  return false;
}

}  // namespace

std::string Marker::Encode() const {
  std::string_view phase_name;
  for (const auto& [each, its] : kPhases) {
    if (each == phase) phase_name = its;
  }
  return fmt::format("source {}\nphase {}\nnext {}\nitems {}\nbytes {}\nlow {:x}\nhigh {:x}\n",
                     source, phase_name, Hexadecimal(next), digest.items, digest.bytes, digest.low,
                     digest.high);
}

Result<Marker> Marker::Decode(std::string_view text) {
  Marker marker;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const size_t space = text.find(' ');
    const bool whole = end != std::string_view::npos && space < end;
    if (!whole ||
        !ReadField(text.substr(0, space), text.substr(space + 1, end - space - 1), &marker))
      return CorruptionError("the mark of a copy is damaged");
    text.remove_prefix(end + 1);
  }
  if (marker.source.empty())
    return CorruptionError("the mark of a copy does not say what was copied");
  return marker;
}

Result<std::optional<Marker>> ReadMarker(kv::Engine& engine, std::string_view table) {
  std::string value;
  ASSIGN_OR_RETURN(const bool found, engine.Get(kCopyTablet, KeyOf(table), kv::Tier::kAny, &value));
  if (!found) return std::optional<Marker>();
  ASSIGN_OR_RETURN(const std::string_view text, table::DecodeItemValue(value));
  ASSIGN_OR_RETURN(Marker marker, Marker::Decode(text));
  return std::optional<Marker>(std::move(marker));
}

Status WriteMarker(kv::Engine& engine, std::string_view table, const Marker& marker) {
  kv::Batch batch;
  batch.puts.push_back({kCopyTablet, KeyOf(table), table::EncodeItemValue(marker.Encode())});
  TRY(kv::ApplyAndWait(engine, std::move(batch)));
  return OkStatus();
}

}  // namespace stator::copy
