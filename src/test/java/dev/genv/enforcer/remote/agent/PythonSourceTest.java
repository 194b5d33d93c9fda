package dev.genv.enforcer.remote.agent;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class PythonSourceTest {
    @Test
    void removesWhatIsForPeopleOnly() {
        assertThat(PythonSource.shorten("""
                        \"""A part.

                        Two lines of it.
                        \"""
                        class Bug(Exception):
                            \"""A bug.\"""


                        def find(name,
                                 other):
                            # a comment
                            if name:
                                return "# no comment"  # a short one
                        """.stripIndent())).isEqualTo("""
                        0
                        class Bug(Exception):
                         0
                        def find(name,
                           other):
                         if name:
                          return "# no comment"  # a short one
                        """);
    }
}
