#include "advise/command.h"

#include <fstream>
#include <iostream>

#include "advise/report.h"
#include "base/printable.h"
#include "request_log/read_line.h"

namespace stator::advise {
namespace {

// The next line without its line feed. What is longer than any record is passed over, not kept:
// `too_long` then.
bool NextLine(std::istream& in, std::string* line, bool* too_long) {
  line->clear();
  *too_long = false;
  bool any = false;
  for (int c = in.rdbuf()->sbumpc(); c != std::char_traits<char>::eof(); c = in.rdbuf()->sbumpc()) {
    any = true;
    if (c == '\n') return true;
    if (line->size() <= request_log::kMaxLineBytes) {
      line->push_back(static_cast<char>(c));
    } else {
      *too_long = true;
    }
  }
  return any;
}

}  // namespace

Status ReadRecording(std::istream& in, const std::string& name, Analysis* analysis) {
  request_log::LineReader reader;
  std::string text;
  bool too_long = false;
  analysis->BeginFile(name);
  int64_t line = 0;
  while (NextLine(in, &text, &too_long)) {
    ++line;
    Result<request_log::Record> record =
        too_long
            ? Result<request_log::Record>(ValidationError("longer than any line of a recording"))
            : reader.Read(text);
    const bool header = record.ok() && std::holds_alternative<request_log::Header>(*record);
    if (line == 1 && !header) {
      return ValidationError(name + ": is no recording of requests" +
                             (record.ok() ? "" : ": " + record.error().message()));
    }
    if (record.ok()) {
      analysis->Add(*record, line);
    } else {
      analysis->AddDamage(line, record.error().message());
    }
  }
  if (line == 0) return ValidationError(name + ": is empty");
  return OkStatus();
}

int Execute(const Command& command) {
  Analysis analysis;
  for (const std::string& file : command.files) {
    std::ifstream in(file, std::ios::binary);
    const Status read = in ? ReadRecording(in, file, &analysis)
                           : Status(ValidationError(file + ": cannot be read"));
    if (!read.ok()) {
      std::cerr << PrintableLines(read.error().message()) << '\n';
      return 1;
    }
  }
  const Recording recording = analysis.Finish();
  std::cout << (command.json ? JsonReport(recording, command.prices)
                             : PrintableLines(TextReport(recording, command.prices)));
  std::cout.flush();
  return std::cout ? 0 : 1;
}

}  // namespace stator::advise
