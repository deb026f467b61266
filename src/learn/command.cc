#include "learn/command.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iostream>

#include "learn/play.h"

namespace stator::learn {
namespace {

int List() {
  std::cout << "Lessons, each played in a second or two with: stator learn NAME\n\n";
  for (const std::string_view name : LessonNames()) {
    const Result<Lesson> lesson = ReadLesson(name);
    if (!lesson.ok()) {
      std::cerr << lesson.error().message() << '\n';
      return 1;
    }
    std::cout << fmt::format("  {:<24} {}\n", name, lesson->title);
  }
  std::cout << "\ndocs/learn.md is a path through them.\n";
  return 0;
}

int PlayOne(std::string_view name, const std::string& out_dir) {
  const Result<Lesson> lesson = ReadLesson(name);
  if (!lesson.ok()) {
    std::cerr << lesson.error().message() << '\n';
    return 1;
  }
  const Result<std::vector<simulate::Variant>> variants = Play(*lesson);
  if (!variants.ok()) {
    std::cerr << variants.error().message() << '\n';
    return 1;
  }
  std::cout << LessonText(*lesson, *variants);
  if (out_dir.empty()) return 0;
  std::error_code failed;  // shows when the file is written
  std::filesystem::create_directories(out_dir, failed);
  const std::string path = (std::filesystem::path(out_dir) / (lesson->name + ".svg")).string();
  std::ofstream out(path, std::ios::binary);
  out << simulate::ComparisonMap(*variants);
  out.close();
  if (!out) {
    std::cerr << path << ": cannot be written\n";
    return 1;
  }
  std::cout << "\nwritten: " << path << '\n';
  return 0;
}

}  // namespace

int Execute(const Command& command) {
  std::vector<std::string> lessons = command.lessons;
  if (command.all) {
    lessons.clear();
    for (const std::string_view name : LessonNames()) lessons.emplace_back(name);
  }
  if (lessons.empty()) return List();
  for (const std::string& name : lessons) {
    if (&name != &lessons.front()) std::cout << "\n----\n\n";
    if (const int code = PlayOne(name, command.out_dir); code != 0) return code;
  }
  return 0;
}

}  // namespace stator::learn
