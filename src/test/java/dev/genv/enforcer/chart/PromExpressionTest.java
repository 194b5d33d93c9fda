package dev.genv.enforcer.chart;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

class PromExpressionTest {
    @Test
    void findsMetricsAndTheirLabels() {
        var expression = new PromExpression("""
                histogram_quantile(0.99, sum by (le, host) (rate(a_bucket{x="1", y=~"p{q}(r)"}[$__rate_interval])))
                or (b_total{z!="\\""} > 0 unless on (host) b_total{w="2"} offset 15m) and time() - c > 1e3""");
        assertThat(expression.metrics())
                .isEqualTo(Map.of("a_bucket", Set.of("x", "y"), "b_total", Set.of("w", "z"), "c", Set.of()));
        assertThat(expression.isBalanced()).isTrue();
    }

    @Test
    void detectsUnbalancedBrackets() {
        assertThat(new PromExpression("sum(a{b=\"c\"}").isBalanced()).isFalse();
        assertThat(new PromExpression("sum(a[5m)]").isBalanced()).isFalse();
        assertThat(new PromExpression("a{b=\"c}").isBalanced()).isFalse();
        assertThat(new PromExpression("a{b=\")\"}").isBalanced()).isTrue();
    }
}
