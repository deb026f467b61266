#include "simulate/command.h"

#include <filesystem>
#include <fstream>
#include <iostream>

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

int Execute(const Command& command) {
  Result<Scenario> scenario = ReadScenario(command.file);
  if (!scenario.ok()) {
    std::cerr << scenario.error().message() << '\n';
    return 1;
  }
  if (command.seed) scenario->seed = *command.seed;
  const Outcome outcome = Run(*scenario);
  std::cout << TextReport(*scenario, outcome);
  if (!command.write_files) return 0;
  std::error_code failed;  // shows when the files are written
  std::filesystem::create_directories(command.out_dir, failed);
  const std::filesystem::path base = std::filesystem::path(command.out_dir) / scenario->name;
  const std::string json = base.string() + ".json", svg = base.string() + ".svg";
  if (!WriteFile(json, JsonReport(*scenario, outcome)) ||
      !WriteFile(svg, HeatMap(*scenario, outcome)))
    return 1;
  std::cout << "\nwritten: " << json << ", " << svg << '\n';
  return 0;
}

}  // namespace stator::simulate
