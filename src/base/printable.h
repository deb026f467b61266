// Text of clients, made safe to read on a terminal and in a log.
#pragma once

#include <string>
#include <string_view>

namespace stator {

// Whether AppendPrintable would change nothing.
bool IsPrintable(std::string_view text);

// Appends the text with escapes in place of what moves a cursor, ends a line or turns the direction
// of writing: controls (C0, DEL, C1), line and paragraph separators, marks and overrides of
// bidirectional text, and bytes that are not UTF-8. \n, \r and \t have their names; others are \xNN
// for one byte and \uNNNN for a character. Other text stays, in any language.
void AppendPrintable(std::string* out, std::string_view text);
std::string Printable(std::string_view text);
// For a report of several lines: \n stays.
std::string PrintableLines(std::string_view text);

}  // namespace stator
