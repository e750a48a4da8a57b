#include <catch2/catch.hpp>

#include "common/source_scan.h"
#include "common/task_loader.h"

namespace fsr {

TEST_CASE("sources that differ in comments and white space alone are the same") {
  const std::string source = "// fsr: launch k grid=(1) block=(1)\n__global__ void k(float* x) { x[0] = 1.0f + 2; }";
  for (const char* other :
       {"//  fsr:  launch k   grid=(1)\tblock=(1)  \r\n__global__ void k( float *x )\n{\n  x[0]=1.0f+2;\n}\n",
        "/* by me */\n// fsr: launch k grid=(1) block=(1)\n\n// a comment\n__global__/*x*/void k(float*x){x[0] = 1.0f  "
        "+ 2 ; // why\n}",
        "// fsr: launch k grid=(1) block=(1)\n// a comment that is \\\n continued\n__global__ \\\nvoid k(float* x) "
        "{x[0]=1.0f+2;}"}) {
    CHECK(NormalizedSource(other) == NormalizedSource(source));
  }
}

TEST_CASE("what changes the meaning changes the normalized source") {
  const auto differ = [](const char* a, const char* b) {
    INFO(a << "\n--\n" << b);
    CHECK(NormalizedSource(a) != NormalizedSource(b));
  };
  differ("int a;", "inta;");
  differ("a + +b", "a ++b");
  differ("a - -b", "a--b");
  differ("x = y / *p;", "x = y /*p;");
  differ("v< v<a> >", "v< v<a>>");
  differ("\"a  b\"", "\"a b\"");
  differ("\"// x\"", "\"//x\"");
  differ("'a'", "' a'");
  differ("R\"(a /* b */ c)\"", "R\"(a c)\"");
  differ("R\"x(a)\" b)x\"", "R\"x(a)\"b)x\"");
  differ("#define F (x)", "#define F(x)");
  differ("#define F x\ny", "#define F x y");
  differ("a\n#if 1\nb\n#endif", "a #if 1 b #endif");
  differ("0xe +1", "0xe+1");
  differ("// fsr: tune A = 1\n", "// fsr: tune A = 2\n");
  differ("// fsr: tune A = 1\n", "// a comment\n");
  differ("1 'a'", "1'a'");
}

TEST_CASE("comment marks in literals begin no comment, and quotes in comments no literal") {
  CHECK(NormalizedSource("a \"/*\" b /* \" */ c") == NormalizedSource("a \"/*\" b c"));
  CHECK(NormalizedSource("a // don't\nb") == NormalizedSource("a\nb"));
  CHECK(NormalizedSource("1'000'000 /* x */ + 2") == NormalizedSource("1'000'000+2"));
  CHECK(NormalizedSource("'\\'' // x") == NormalizedSource("'\\''"));
  CHECK(NormalizedSource("u8R\"--(// \")--\" // x") == NormalizedSource("u8R\"--(// \")--\""));
  CHECK(NormalizedSource("#include <a> // why\n#include <b>") == NormalizedSource("#include <a>\n#include <b>"));
  CHECK(NormalizedSource("#define A /* x\n y */ 1\nz") == NormalizedSource("#define A 1\nz"));
}

TEST_CASE("normalizing twice changes nothing more") {
  const char* const sources[] = {"// fsr: tune A = 1\n#define F(x) (x)\nint a = F(1) + +2; // c\n",
                                 "a\n#if 1 /* c */\nb\n#endif\nc", "x = \"a\\\"b\" 'c';"};
  for (const char* source : sources) {
    const std::string once = NormalizedSource(source);
    CHECK(NormalizedSource(once) == once);
  }
}

TEST_CASE("the scanner's tokens together are the source, with the right lines") {
  const std::string source = "a /* b\nc */ R\"(d\ne)\" // f\n\n g";
  SourceScanner scanner(source);
  std::string together;
  int line_of_g = 0;
  for (SourceToken token; scanner.Next(&token);) {
    CHECK(token.offset == together.size());
    together += token.text;
    if (token.text == "g") line_of_g = token.line;
  }
  CHECK(together == source);
  CHECK(line_of_g == 5);
}

}  // namespace fsr
