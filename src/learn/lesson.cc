#include "learn/lesson.h"

#include <fmt/format.h>

#include <algorithm>

#include "simulate/toml_section.h"

namespace stator::learn {
namespace {

constexpr std::string_view kOrder[] = {"good-and-poor-keys",
                                       "initial-partitions",
                                       "hot-date",
                                       "status-index",
                                       "vote-counter",
                                       "three-hundred-seconds",
                                       "sparse-index",
                                       "upload-by-user",
                                       "size-split",
                                       "raise-capacity",
                                       "bulk-load",
                                       "cache",
                                       "vertical-partitioning",
                                       "cart",
                                       "slim-index",
                                       "read-replica",
                                       "two-applications",
                                       "tenants",
                                       "time-series",
                                       "ttl-messages",
                                       "message-archive",
                                       "strong-and-eventual",
                                       "replicas",
                                       "on-demand-growth",
                                       "auto-scaling"};

const LessonFile* FileOf(const std::string& path) {
  const LessonFile* end = kLessonFiles + kLessonFileCount;
  const LessonFile* found =
      std::find_if(kLessonFiles, end, [&](const LessonFile& file) { return file.path == path; });
  return found == end ? nullptr : found;
}

std::vector<std::string> TextsOf(simulate::Section* section, std::string_view key) {
  std::vector<std::string> texts;
  const toml::node* node = section->Node(key);
  const toml::array* array = node != nullptr ? node->as_array() : nullptr;
  if (array == nullptr) {
    section->Fail(key, "must be a list of texts");
    return texts;
  }
  for (const toml::node& element : *array) texts.push_back(element.value_or(std::string()));
  return texts;
}

Expectation ReadExpectation(simulate::Section section) {
  Expectation e;
  const auto whole = [&](std::string_view key, std::optional<int64_t>* out) {
    if (!section.Has(key)) return;
    int64_t value = 0;
    section.Whole(key, &value, 0);
    *out = value;
  };
  const auto number = [&](std::string_view key, std::optional<double>* out) {
    if (!section.Has(key)) return;
    double value = 0;
    section.Number(key, &value, 0);
    *out = value;
  };
  section.Text("scenario", &e.scenario);
  if (section.Has("traffic")) section.Text("traffic", &e.traffic.emplace());
  whole("partitions", &e.partitions);
  whole("partitions_after", &e.partitions_after);
  whole("served", &e.served);
  whole("throttled", &e.throttled);
  number("throttled_at_least", &e.throttled_at_least);
  whole("reads", &e.reads);
  number("read_units", &e.read_units);
  number("write_units", &e.write_units);
  if (section.Has("hottest")) section.Text("hottest", &e.hottest.emplace());
  whole("suffixes", &e.suffixes);
  section.Finish();
  return e;
}

}  // namespace

std::vector<std::string_view> LessonNames() { return {std::begin(kOrder), std::end(kOrder)}; }

Result<Lesson> ReadLesson(std::string_view name) {
  const std::string path = fmt::format("{}/lesson.toml", name);
  const LessonFile* file = FileOf(path);
  if (file == nullptr) {
    std::string known;
    for (const std::string_view other : kOrder) known += fmt::format(" {}", other);
    return ValidationError(fmt::format("there is no lesson \"{}\"; there are:{}", name, known));
  }
  const toml::parse_result parsed = toml::parse(file->text);
  simulate::Errors errors(path);
  if (!parsed) {
    errors.Add(parsed.error().source(), "", parsed.error().description());
    return errors.status().error();
  }
  Lesson lesson;
  lesson.name = name;
  simulate::Section root(parsed.table(), "", &errors);
  root.Text("title", &lesson.title);
  root.Text("amazon", &lesson.amazon);
  lesson.says = TextsOf(&root, "says");
  for (const std::string& scenario : TextsOf(&root, "play")) {
    const LessonFile* text = FileOf(fmt::format("{}/{}.toml", name, scenario));
    if (text == nullptr) {
      root.Fail("play", fmt::format("there is no {}.toml", scenario));
    } else {
      lesson.scenarios.emplace_back(scenario, text->text);
    }
  }
  for (simulate::Section& section : root.List("expect"))
    lesson.expectations.push_back(ReadExpectation(section));
  root.Finish();
  TRY(errors.status());
  return lesson;
}

}  // namespace stator::learn
