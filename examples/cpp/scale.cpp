// A C++ program that owns the objects of the C interface, passes a vector's data, and turns errors
// into exceptions.
#include <tilewright.h>

#include <cstring>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <vector>

static const char text[] = R"(kernel scale(i32 n, const f32 *x, f32 *y) grid(cdiv(n, 256)) warps(4)
{
    global f32 X[n] = x, Y[n] = y;
    i32 i = block.x * 256;
    Y[i +: 256] = 2.5 * X[i +: 256];
    ensures Y == 2.5 * X;
})";

static void need(tw_status status, const tw_context *ctx)
{
    if (status != TW_OK)
        throw std::runtime_error(ctx ? tw_context_messages(ctx) : tw_status_text(status));
}

static tw_array array_of(std::vector<float> &values)
{
    // used in place: the vector must not change its size until the launch has ended
    return tw_host_array(values.data(), TW_F32, values.size());
}

static void scale(tw_context *ctx, std::vector<float> &x, std::vector<float> &y)
{
    tw_module *module = nullptr; // the context's
    tw_launch *made = nullptr;
    need(tw_module_from_text(ctx, "scale.tile", text, std::strlen(text), &module), ctx);
    need(tw_launch_new(tw_module_kernel(module, "scale"), &made), ctx);
    const std::unique_ptr<tw_launch, void (*)(tw_launch *)> launch(made, tw_launch_free);
    const tw_array given = array_of(x), written = array_of(y);
    need(tw_launch_array(made, "x", &given), ctx);
    need(tw_launch_array(made, "y", &written), ctx);
    need(tw_launch_run(made), ctx);
    need(tw_launch_verify(made, nullptr), ctx);
}

int main()
try {
    tw_context *made = nullptr;
    need(tw_context_new(nullptr, &made), nullptr);
    const std::unique_ptr<tw_context, void (*)(tw_context *)> ctx(made, tw_context_free);
    std::vector<float> x(1000, 4), y(1000), too_short(10);
    scale(made, x, y);
    std::cout << "y[999] = " << y[999] << std::endl;
    scale(made, x, too_short);
} catch (const std::exception &error) {
    std::cout << error.what();
}
