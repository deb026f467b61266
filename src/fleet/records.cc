#include "fleet/records.h"

#include <fmt/format.h>

#include <charconv>
#include <iterator>

namespace stator::fleet {
namespace {

constexpr char kFormat = 0x01;

// Calls field(name, text) for each line. Returns false if a line is not a field.
template <typename Field>
bool ForEachField(std::string_view text, Field field) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const size_t space = text.find(' ');
    if (end == std::string_view::npos || space >= end) return false;
    field(text.substr(0, space), text.substr(space + 1, end - space - 1));
    text.remove_prefix(end + 1);
  }
  return true;
}

template <typename Number>
bool Parse(std::string_view text, Number* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

}  // namespace

std::string KeyOf(std::string_view prefix, std::string_view name) {
  return std::string(prefix).append(name);
}

std::string DrainSetting(std::string_view id) { return std::string(kDrainSetting).append(id); }

std::string_view NameIn(std::string_view prefix, std::string_view key) {
  return key.starts_with(prefix) ? key.substr(prefix.size()) : std::string_view();
}

std::string EncodeRecord(std::string_view text) {
  std::string value(kv::kStampBytes, '\0');
  value.push_back(kFormat);
  value.append(text);
  return value;
}

Result<std::string_view> DecodeRecord(std::string_view value) {
  if (value.size() <= kv::kStampBytes || value[kv::kStampBytes] != kFormat)
    return CorruptionError("an entry of the fleet's tablet has an unknown format");
  return value.substr(kv::kStampBytes + 1);
}

std::string Beat::Encode() const {
  std::string text = fmt::format(
      "sequence {}\nendpoint {}\nversion {}\nclock {}\nstarted {}\nat {}\nfeatures {}\nage {}\n",
      sequence, endpoint, version, clock, started_micros, at_micros, features, age_micros);
  if (draining) fmt::format_to(std::back_inserter(text), "draining {}\n", *draining ? 1 : 0);
  if (!datacenter.empty()) fmt::format_to(std::back_inserter(text), "datacenter {}\n", datacenter);
  if (!rack.empty()) fmt::format_to(std::back_inserter(text), "rack {}\n", rack);
  if (!link.empty()) fmt::format_to(std::back_inserter(text), "link {}\n", link);
  if (!unreached.empty()) fmt::format_to(std::back_inserter(text), "unreached {}\n", unreached);
  return text;
}

Result<Beat> Beat::Decode(std::string_view text) {
  Beat beat;
  bool good = true;
  const bool fields = ForEachField(text, [&](std::string_view name, std::string_view value) {
    if (name == "sequence") good = good && Parse(value, &beat.sequence);
    if (name == "endpoint") beat.endpoint = value;
    if (name == "version") beat.version = value;
    if (name == "clock") beat.clock = value;
    if (name == "features") beat.features = value;
    if (name == "age") good = good && Parse(value, &beat.age_micros);
    if (name == "started") good = good && Parse(value, &beat.started_micros);
    if (name == "at") good = good && Parse(value, &beat.at_micros);
    if (name == "draining") beat.draining = value == "1";
    if (name == "datacenter") beat.datacenter = value;
    if (name == "rack") beat.rack = value;
    if (name == "link") beat.link = value;
    if (name == "unreached") beat.unreached = value;
  });
  if (!fields || !good) return CorruptionError("the entry of a process is damaged");
  return beat;
}

std::string Lease::Encode() const { return fmt::format("owner {}\nterm {}\n", owner, term); }

Result<Lease> Lease::Decode(std::string_view text) {
  Lease lease;
  bool good = true;
  const bool fields = ForEachField(text, [&](std::string_view name, std::string_view value) {
    if (name == "owner") lease.owner = value;
    if (name == "term") good = good && Parse(value, &lease.term);
  });
  if (!fields || !good || lease.owner.empty())
    return CorruptionError("the entry of a lease is damaged");
  return lease;
}

}  // namespace stator::fleet
