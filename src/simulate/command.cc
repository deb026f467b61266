#include "simulate/command.h"

#include <filesystem>
#include <fstream>
#include <iostream>

#include "base/printable.h"
#include "simulate/compare.h"
#include "simulate/report.h"
#include "simulate/run.h"
#include "simulate/scenario_reader.h"

namespace stator::simulate {
namespace {

bool WriteFile(const std::filesystem::path& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (!out) std::cerr << path.string() << ": cannot be written\n";
  return static_cast<bool>(out);
}

}  // namespace

namespace {

int Compare(const Command& command) {
  std::vector<std::string> what = command.compare;
  if (!command.file.empty()) what.insert(what.begin(), command.file);
  Result<std::vector<Variant>> variants = ReadVariants(what);
  if (!variants.ok()) {
    std::cerr << variants.error().message() << '\n';
    return 1;
  }
  for (Variant& variant : *variants) {
    if (command.seed) variant.scenario.seed = *command.seed;
    variant.outcome = Run(variant.scenario);
  }
  std::cout << ComparisonText(*variants);
  if (!command.write_files) return 0;
  std::error_code failed;  // shows when the files are written
  std::filesystem::create_directories(command.out_dir, failed);
  const std::filesystem::path base = std::filesystem::path(command.out_dir) / "compared";
  const std::string json = base.string() + ".json", svg = base.string() + ".svg";
  if (!WriteFile(json, ComparisonJson(*variants)) || !WriteFile(svg, ComparisonMap(*variants)))
    return 1;
  std::cout << "\nwritten: " << json << ", " << svg << '\n';
  return 0;
}

}  // namespace

int Execute(const Command& command) {
  if (!command.compare.empty()) return Compare(command);
  if (command.file.empty()) {
    std::cerr << "simulate: a scenario is missing; docs/throughput.md describes the file\n";
    return 1;
  }
  Result<Scenario> scenario = ReadScenario(command.file);
  if (!scenario.ok()) {
    std::cerr << PrintableLines(scenario.error().message()) << '\n';
    return 1;
  }
  if (command.seed) scenario->seed = *command.seed;
  const Outcome outcome = Run(*scenario);
  std::cout << PrintableLines(TextReport(*scenario, outcome));
  if (!command.write_files) return 0;
  std::error_code failed;  // shows when the files are written
  std::filesystem::create_directories(command.out_dir, failed);
  const std::filesystem::path base = std::filesystem::path(command.out_dir) / scenario->name;
  const std::string json = base.string() + ".json", svg = base.string() + ".svg";
  if (!WriteFile(json, JsonReport(*scenario, outcome)) ||
      !WriteFile(svg, HeatMap(*scenario, outcome)))
    return 1;
  std::cout << "\nwritten: " << Printable(json) << ", " << Printable(svg) << '\n';
  return 0;
}

}  // namespace stator::simulate
